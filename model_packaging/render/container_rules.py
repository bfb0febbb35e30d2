"""How AWS's vLLM container turns its environment into engine arguments, per release.

Written from the container's entry point. The translation decides what really runs on SageMaker, so
it is repeated here, to be compared with the on-prem arguments before anything is deployed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from model_packaging.deployment.container import release_order
from model_packaging.render.arguments import CONTAINER_MODEL

PREFIX = "SM_VLLM_"
PORT = "8080"
MIDDLEWARE = "sagemaker_serve.SageMakerRouteMiddleware"
_FIRST_WITH_ARRAYS = (2, 4)

# Flags that take an array as one value, or one value per occurrence.
_ONE_TOKEN = frozenset(
    {"--allowed-origins", "--allowed-methods", "--allowed-headers", "--middleware"}
)


@dataclass(frozen=True, slots=True)
class ContainerRules:
    """What differs between releases."""

    release: str
    expands_arrays: bool


def rules_of(release: str) -> ContainerRules:
    """The rules of `release`, for example `2.5`."""
    return ContainerRules(release, expands_arrays=release_order(release) >= _FIRST_WITH_ARRAYS)


def container_arguments(
    environment: Mapping[str, str], *, rules: ContainerRules
) -> tuple[str, ...]:
    """The arguments with which the container starts vLLM when a model lies in /opt/ml/model."""
    found = ["--port", PORT]
    if not environment.get(f"{PREFIX}MODEL"):
        found += ["--model", CONTAINER_MODEL]
    for key in sorted(environment):
        if key.startswith(PREFIX):
            found += _translated(key, environment[key], rules)
    return (*found, "--middleware", MIDDLEWARE)


def _translated(key: str, value: str, rules: ContainerRules) -> list[str]:
    flag = "--" + key.removeprefix(PREFIX).lower().replace("_", "-")
    # A false drops the flag; it does not switch anything off. Off is SM_VLLM_NO_<FLAG>=true.
    match value.strip().lower() if rules.expands_arrays else value.lower():
        case "true":
            return [flag]
        case "false":
            return []
    if not value:
        return [flag]
    if not rules.expands_arrays or flag in _ONE_TOKEN:
        return [flag, value]
    tokens = _tokens(value)
    return [flag, *tokens] if tokens else []


def _tokens(value: str) -> list[str]:
    text = value.strip()
    if text.startswith("[") and text.endswith("]"):
        try:
            items = json.loads(text)
        except ValueError:
            return [value]
        return [_token(item) for item in items]
    if text.startswith("{") and text.endswith("}"):
        objects = _objects(text)
        if len(objects) > 1:
            return [json.dumps(item, separators=(",", ":")) for item in objects]
    return [value]


def _token(item: JsonValue) -> str:
    match item:
        case dict() | list():
            return json.dumps(item, separators=(",", ":"))
        case bool():
            return "true" if item else "false"
        case None:
            return ""
        case _:
            return str(item)


def _objects(text: str) -> list[JsonValue]:
    """The objects of `{...} {...}`, or nothing where the text is anything else."""
    decoder = json.JSONDecoder()
    found: list[JsonValue] = []
    position = 0
    while position < len(text):
        try:
            item, position = decoder.raw_decode(text, position)
        except ValueError:
            return []
        if not isinstance(item, dict):
            return []
        found.append(item)
        while position < len(text) and text[position].isspace():
            position += 1
    return found
