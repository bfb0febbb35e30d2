import json

import pytest

from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from lambdas.backends.chat_chunks import events_of


def events(chunk):
    return list(events_of(json.dumps(chunk).encode()))


def choice(**parts):
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": None} | parts]}


def test_text_and_reasoning_are_told_apart():
    assert events(choice(delta={"reasoning": "Hm.", "content": None})) == [ReasoningDelta("Hm.")]
    assert events(choice(delta={"content": "Fine."})) == [TextDelta("Fine.")]


def test_a_role_or_an_empty_text_is_no_event():
    assert events(choice(delta={"role": "assistant", "content": ""})) == []


def test_a_call_comes_in_pieces_by_its_index():
    first = {"index": 1, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}
    rest = {"index": 1, "function": {"arguments": '{"a"'}}
    assert events(choice(delta={"tool_calls": [first]})) == [ToolCallDelta(1, "c1", "f", "")]
    assert events(choice(delta={"tool_calls": [rest]})) == [ToolCallDelta(1, "", "", '{"a"')]


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls"])
def test_the_end_of_a_reply_is_an_event(reason):
    assert events(choice(finish_reason=reason)) == [Finished(reason)]


def test_usage_comes_with_what_was_cached_when_the_engine_tells():
    usage = {"prompt_tokens": 300, "completion_tokens": 20}
    assert events({"choices": [], "usage": usage}) == [Usage(300, 20, None)]
    details = {"prompt_tokens_details": {"cached_tokens": 256}}
    assert events({"choices": [], "usage": usage | details}) == [Usage(300, 20, 256)]


@pytest.mark.parametrize(
    ("chunk", "failure"),
    [
        (choice(finish_reason="abort"), Failure.CUT),
        (choice(finish_reason="error"), Failure.SERVER_ERROR),
        (choice(finish_reason="repetition"), Failure.PROTOCOL),
        ({"error": {"message": "engine died", "code": 500}}, Failure.SERVER_ERROR),
        (["not", "a", "chunk"], Failure.PROTOCOL),
        ({"choices": "none"}, Failure.PROTOCOL),
        ({"choices": ["none"]}, Failure.PROTOCOL),
        (choice(delta={"content": 5}), Failure.PROTOCOL),
        (choice(delta={"tool_calls": "f"}), Failure.PROTOCOL),
        (choice(delta={"tool_calls": [{"index": 0}]}), Failure.PROTOCOL),
        (choice(delta={"tool_calls": [{"function": {}}]}), Failure.PROTOCOL),
    ],
)
def test_what_is_not_a_good_chunk_is_a_failure_of_its_kind(chunk, failure):
    with pytest.raises(BackendFailure) as failed:
        events(chunk)
    assert failed.value.failure is failure


def test_text_that_is_not_json_is_a_protocol_failure():
    with pytest.raises(BackendFailure) as failed:
        list(events_of(b"<html>"))
    assert failed.value.failure is Failure.PROTOCOL
