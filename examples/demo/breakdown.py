"""The gateway's named steps against the client's own wall clock, and what no step names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Beside name and time; docs/chat-api.md describes them all.
_SHOWN = ("intent", "label", "tool", "pool", "prompt_tokens", "cached_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Line:
    """One step of a request; times in milliseconds, ``start`` counted from the gateway's first
    step."""

    name: str
    start: float
    duration: float
    detail: str


def lines(steps: list[dict[str, Any]]) -> list[Line]:
    """Return the steps in the order they began, with what is known about each."""
    return [
        Line(
            name=("  " if "parent" in step else "") + str(step["name"]),
            start=float(step["start_ms"]),
            duration=float(step["duration_ms"]),
            detail=" ".join(f"{key}={step[key]}" for key in _SHOWN if key in step),
        )
        for step in sorted(steps, key=lambda step: float(step["start_ms"]))
    ]


def covered(found: list[Line]) -> float:
    """Return the milliseconds that at least one step covers: overlapping steps (parallel tools)
    count once."""
    total, end = 0.0, float("-inf")
    for line in sorted(found, key=lambda line: line.start):
        stop = line.start + line.duration
        total += max(0.0, stop - max(line.start, end))
        end = max(end, stop)
    return total


def table(steps: list[dict[str, Any]], *, wall_ms: float) -> str:
    """Return the steps as text; the last two lines are the client's wall clock and the part of it
    that no step names."""
    found = lines(steps)
    rows = [
        f"{line.name:<14} {line.start:>8.1f} {line.duration:>9.1f}  {line.detail}".rstrip()
        for line in found
    ]
    unnamed = wall_ms - covered(found)
    return "\n".join(
        [
            f"{'step':<14} {'at ms':>8} {'took ms':>9}",
            *rows,
            f"{'client wall':<14} {'':>8} {wall_ms:>9.1f}",
            f"{'unnamed':<14} {'':>8} {unnamed:>9.1f}  {100 * unnamed / wall_ms:.1f} % of it:"
            " connection, HTTP, this client",
        ]
    )
