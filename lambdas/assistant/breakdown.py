"""The `perimeter` object of a response: where the time went and what the tools said.

It holds content (arguments, results, the messages of the turn), so it goes to the caller alone.
"""

import json
from collections.abc import Mapping

from lambdas.assistant import semantic_names as names
from lambdas.assistant.events import Record
from lambdas.assistant.toolbox import ToolRun
from lambdas.assistant.trace import Step, Trace


def breakdown(trace: Trace, record: Record) -> dict[str, object]:
    """The breakdown as of now.

    `steps` are in order of their start, in milliseconds since the request arrived; a step with a
    `parent` lies inside it, so the steps without one add up to the named share of `duration_ms`.
    `messages` are those of this turn: sent back before the next question, they are the history.
    """
    steps = sorted(trace.steps, key=lambda step: step.start_ns)
    return {
        "trace_id": trace.trace_id,
        "label": record.label,
        "intent": record.intent,
        "duration_ms": _ms(trace.now_ns() - trace.start_ns),
        "attempts": [_attempt(step, trace) for step in steps if step.name == names.ATTEMPT],
        "steps": [_step(step, trace) for step in steps],
        "tool_calls": [_tool_call(run) for run in record.tool_runs],
        "messages": [message.document() for message in record.added],
    }


def _step(step: Step, trace: Trace) -> dict[str, object]:
    document: dict[str, object] = {"name": step.name}
    if step.parent is not None:
        document["parent"] = step.parent
    document |= _times(step, trace)
    document |= _shown(step.attributes)
    return document


def _attempt(step: Step, trace: Trace) -> dict[str, object]:
    document = _times(step, trace)
    first = step.attributes.get(names.FIRST_CHUNK_SECONDS)
    document["first_token_ms"] = round(first * 1000, 3) if isinstance(first, float) else None
    document |= _shown(step.attributes)
    return document


def _times(step: Step, trace: Trace) -> dict[str, object]:
    end_ns = trace.now_ns() if step.end_ns is None else step.end_ns
    return {
        "start_ms": _ms(step.start_ns - trace.start_ns),
        "duration_ms": _ms(end_ns - step.start_ns),
    }


def _shown(attributes: Mapping[str, object]) -> dict[str, object]:
    return {
        names.BREAKDOWN_KEYS[name]: value
        for name, value in attributes.items()
        if name in names.BREAKDOWN_KEYS
    }


def _tool_call(run: ToolRun) -> dict[str, object]:
    return {
        "name": run.checked.call.name,
        "arguments": dict(run.checked.arguments),
        "label": run.checked.tool.label,
        "duration_ms": round(run.duration_ms, 3),
        "ok": run.ok,
        "result": None if run.text is None else json.loads(run.text),
        "error": None if run.error is None else run.error.code,
    }


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
