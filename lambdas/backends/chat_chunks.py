"""Chunks of an OpenAI chat-completions stream, as vLLM writes them, turned into model events."""

import json
from collections.abc import Iterator, Mapping

from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)

FINISHED = ("stop", "length", "tool_calls")


def events_of(data: bytes) -> Iterator[ModelEvent]:
    """The events in one chunk.

    Raises `BackendFailure`: PROTOCOL for what is not a chunk, SERVER_ERROR for an error that the
    engine reports inside the stream, CUT when it aborted the request (an engine that is shut down
    ends its streams so).
    """
    try:
        chunk = json.loads(data)
    except ValueError:
        raise BackendFailure(Failure.PROTOCOL) from None
    if not isinstance(chunk, dict):
        raise BackendFailure(Failure.PROTOCOL)
    if "error" in chunk:
        raise BackendFailure(Failure.SERVER_ERROR)
    choices = chunk.get("choices", [])
    if not isinstance(choices, list):
        raise BackendFailure(Failure.PROTOCOL)
    for choice in choices:
        if not isinstance(choice, dict):
            raise BackendFailure(Failure.PROTOCOL)
        yield from _choice(choice)
    usage = chunk.get("usage")
    if isinstance(usage, dict):
        yield _usage(usage)


def _choice(choice: Mapping[str, object]) -> Iterator[ModelEvent]:
    delta = choice.get("delta")
    if isinstance(delta, dict):
        yield from _delta(delta)
    reason = choice.get("finish_reason")
    if reason is None:
        return
    if reason in FINISHED:
        yield Finished(str(reason))
        return
    match reason:
        case "abort":
            raise BackendFailure(Failure.CUT)
        case "error":
            raise BackendFailure(Failure.SERVER_ERROR)
        case _:
            raise BackendFailure(Failure.PROTOCOL)


def _delta(delta: Mapping[str, object]) -> Iterator[ModelEvent]:
    if reasoning := _text(delta, "reasoning"):
        yield ReasoningDelta(reasoning)
    if content := _text(delta, "content"):
        yield TextDelta(content)
    calls = delta.get("tool_calls") or []
    if not isinstance(calls, list):
        raise BackendFailure(Failure.PROTOCOL)
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(call.get("index"), int):
            raise BackendFailure(Failure.PROTOCOL)
        yield ToolCallDelta(
            index=call["index"],
            id=_text(call, "id"),
            name=_text(function, "name"),
            arguments=_text(function, "arguments"),
        )


def _text(value: Mapping[str, object], key: str) -> str:
    text = value.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise BackendFailure(Failure.PROTOCOL)
    return text


def _usage(usage: Mapping[str, object]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt=_count(usage.get("prompt_tokens")) or 0,
        completion=_count(usage.get("completion_tokens")) or 0,
        cached=_count(cached),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None
