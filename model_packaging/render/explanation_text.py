"""The text of `package-model explain`, made from the facts that `explaining` gathers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def text_of(data: dict[str, Any]) -> str:
    """The facts as lines for a reader, with a newline at the end."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: dict[str, Any]) -> Iterator[str]:
    yield f"Deployment {data['deployment']}: {', '.join(data['places'])}"
    for key, package in data["packages"].items():
        yield f"  {key}: {package['package_name']} {package['package_version']}"
        yield f"    weights {package['weights_digest']}"
    yield "\nWho may see what"
    for place, pools in data["pools"].items():
        for name, pool in pools.items():
            yield (
                f"  {place:8} {name:20} up to {pool['may_hold']}  {pool['kind']}, {pool['serves']}"
            )
    for name, tenant in data["tenants"].items():
        yield f"  tenant   {name:20} from {tenant['floor']}   in {', '.join(tenant['places'])}"
    yield "\nWhere a request may go (its label is the highest of: what its caller declares, its"
    yield "tenant's floor, what its tools have returned)"
    for place, intents in data["reach"].items():
        for name, intent in intents.items():
            yield f"  {place} {name}" + (" (default)" if intent["default"] else "")
            tools = ", ".join(f"{tool} {label}" for tool, label in intent["tools"].items())
            yield f"    tools: {tools or 'none'}"
            for label, steps in intent["labels"].items():
                picks, answers = (", ".join(pools) for pools in steps.values())
                yield f"    {label}: " + (
                    f"tools picked by {picks}; answered by {answers}"
                    if picks and answers
                    else "refused"
                )
    if data["notes"]:
        yield "\nTo know"
        yield from (f"  {note}" for note in data["notes"])
    yield "\nEngine arguments"
    for place, engines in data["engines"].items():
        for model, engine in engines.items():
            release = engine["container_release"]
            image = f", AWS image {release}" if release else ""
            yield f"  {place} {model} (vLLM {engine['version']}{image})"
            yield from _argument_lines(engine["arguments"])
    yield "\nDifferences between the places"
    for model, parity in data["parity"].items():
        yield f"  {model}: " + ("all with a reason" if parity["same"] else "NOT THE SAME")
        for difference in parity["differences"]:
            yield from _difference_lines(difference)
    if not data["parity"]:
        yield "  no model is served in both"


def _argument_lines(arguments: list[str]) -> Iterator[str]:
    line = ""
    for token in arguments:
        if token.startswith("--") and line:
            yield line
            line = ""
        line = f"{line} {token}" if line else f"    {token}"
    if line:
        yield line


def _difference_lines(difference: dict[str, Any]) -> Iterator[str]:
    def shown(values: tuple[str, ...] | None) -> str:
        return "not set" if values is None else " ".join(values) or "on"

    yield (
        f"    {difference['name']}: on_prem {shown(difference['on_prem'])}, aws "
        f"{shown(difference['aws'])}"
    )
    yield f"      {difference['reason'] or 'no reason is given for this one'}"
