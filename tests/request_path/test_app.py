"""The ASGI app: statuses, shapes and streams, with scripted engines in virtual time."""

import asyncio
import json
import logging

import pytest

from lambdas.assistant.app import ChatApp
from lambdas.assistant.backend import Failure, TextDelta
from lambdas.assistant.errors import NotAuthenticated
from lambdas.assistant.exchange import MAX_BODY_BYTES
from tests.request_path.asgi import KEY, call, chat
from tests.request_path.fakes import (
    STALL,
    FakeTools,
    ScriptedBackend,
    Sleep,
    calls,
    fails,
    make_assistant,
    says,
)
from tests.request_path.plans import make_plan
from tests.request_path.spans import recording_tracer
from tests.request_path.virtual_time import UNIX_NS, elapsed_ms, run

RATE = ("get_rate", '{"currency_pair": "EUR/USD", "date": "2026-01-05"}')
STEPS = {"perimeter.trace": "steps", "perimeter.label": "C1"}


def identify(headers):
    if headers.get(b"authorization") != f"Bearer {KEY}".encode():
        raise NotAuthenticated("the client key is not known here")
    return "analysts"


def make_app(small=None, large=None, *, tools=None, tracer=None, on_close=()):
    engines = ScriptedBackend(
        {"gpu_small": small or [calls(RATE)], "gpu_large": large or [says("It ", "was 1.")]}
    )
    assistant = make_assistant(make_plan(), engines, tools or FakeTools({"get_rate": "1"}))
    tracer = tracer or recording_tracer()[0]
    return ChatApp(
        assistant=assistant, identify=identify, tracer=tracer, on_close=on_close
    ), engines


def test_a_whole_response_has_the_openai_form():
    app, _ = make_app()
    response = run(chat(app))
    assert response.status == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    trace_id = response.headers["x-request-id"]
    assert response.json == {
        "id": f"chatcmpl-{trace_id}",
        "created": UNIX_NS // 10**9,
        "model": "demo",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "It was 1.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
    }


def test_a_stream_opens_with_the_role_and_ends_with_the_marker():
    app, _ = make_app()
    response = run(chat(app, stream=True))
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    *chunks, done = response.events
    assert done == "[DONE]"
    assert response.complete
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "It "},
        {"content": "was 1."},
        {},
    ]
    assert [c["choices"][0]["finish_reason"] for c in chunks] == [None, None, None, "stop"]
    assert len({chunk["id"] for chunk in chunks}) == 1


def test_usage_comes_in_a_chunk_of_its_own_when_asked_for():
    app, _ = make_app()
    options = {"include_usage": True}
    *_, usage, _ = run(chat(app, stream=True, stream_options=options, metadata=STEPS)).events
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 30
    assert usage["perimeter"]["intent"] == "lookup"


@pytest.mark.parametrize("stream", [False, True])
def test_the_breakdown_tells_steps_attempts_and_tool_calls(stream):
    app, _ = make_app(
        small=[[Sleep(0.2), *calls(RATE)]], tools=FakeTools({"get_rate": [Sleep(0.5), '{"r":1.0}']})
    )
    response = run(chat(app, stream=stream, metadata=STEPS))
    found = (response.events[-2] if stream else response.json)["perimeter"]
    assert found["trace_id"] == response.headers["x-request-id"]
    assert (found["label"], found["intent"]) == ("C1", "lookup")
    assert found["duration_ms"] == pytest.approx(700)
    assert found["attempts"][0] == {
        "start_ms": 0,
        "duration_ms": pytest.approx(200),
        "first_token_ms": pytest.approx(200),
        "model": "gpu_small-model",
        "pool": "gpu_small",
        "replica": "host0",
        "phase": "pick",
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "outcome": "ok",
    }
    assert found["tool_calls"] == [
        {
            "name": "get_rate",
            "arguments": {"currency_pair": "EUR/USD", "date": "2026-01-05"},
            "label": "C1",
            "duration_ms": pytest.approx(500),
            "ok": True,
            "result": {"r": 1.0},
            "error": None,
        }
    ]
    steps = [step["name"] for step in found["steps"]]
    expected = ["admit", "label", "pools", "route", "prompt", "attempt", "tools", "tool", "pools"]
    assert steps == [*expected, "answer", "attempt", *(["stream"] if stream else [])]
    assert {"name": "tool", "parent": "tools"}.items() <= found["steps"][7].items()


def test_without_asking_there_is_no_breakdown():
    app, _ = make_app()
    assert "perimeter" not in run(chat(app)).json
    assert b"perimeter" not in run(chat(app, stream=True)).body


def test_the_messages_of_a_turn_can_be_sent_back_and_reach_the_engine_unchanged():
    app, engines = make_app(tools=FakeTools({"get_rate": '{"rate":1.0850}'}))

    async def scenario():
        first = [{"role": "user", "content": "EUR/USD?"}]
        added = (await chat(app, messages=first, metadata=STEPS)).json["perimeter"]["messages"]
        again = [*first, *added, {"role": "user", "content": "And GBP?"}]
        assert (await chat(app, messages=again, metadata=STEPS)).status == 200
        return first + added

    turn = run(scenario())
    assert [message["role"] for message in turn] == ["user", "assistant", "tool", "assistant"]
    assert turn[2]["content"] == '{"rate": 1.0850}'
    sent = [message.document() for message in engines.requests[2].messages]
    assert sent[:4] == turn
    written_after_tools = [message.document() for message in engines.requests[1].messages]
    assert sent[:3] == written_after_tools


def test_an_error_before_the_first_text_has_its_status_and_a_breakdown():
    app, _ = make_app(small=[calls(("get_news", "{}"))])
    response = run(chat(app, stream=True, metadata=STEPS))
    assert response.status == 502
    assert response.error["code"] == "tool_not_offered"
    assert response.error["type"] == "tool_call_error"
    assert response.headers["x-should-retry"] == "false"
    assert response.json["perimeter"]["steps"][-1]["error"] == "tool_not_offered"


def test_a_client_may_repeat_what_an_engine_could_not_take_just_now():
    app, _ = make_app(small=[fails(Failure.OVERLOADED)])
    response = run(chat(app))
    assert (response.status, response.headers["x-should-retry"]) == (503, "true")


def test_an_error_after_the_first_text_is_the_last_event_and_there_is_no_end_marker():
    app, _ = make_app(large=[fails(Failure.CUT, after=[TextDelta("It ")])])
    response = run(chat(app, stream=True))
    assert response.status == 200
    assert response.complete
    assert response.events[-1]["error"]["code"] == "stream_interrupted"
    assert b"[DONE]" not in response.body


def test_the_callers_deadline_counts_from_the_arrival_of_the_request():
    app, _ = make_app(small=[[STALL]])

    async def scenario():
        body = {
            "model": "demo",
            "messages": [{"role": "user", "content": "x"}],
            "metadata": {"perimeter.deadline_ms": "3000"},
        }
        halves = json.dumps(body).encode()
        slow = [(0, halves[:10]), (1, halves[10:])]
        response = await call(app, "POST", "/v1/chat/completions", slow=slow)
        return response, elapsed_ms()

    response, ended_ms = run(scenario())
    assert (response.status, response.error["code"]) == (504, "deadline_exceeded")
    assert ended_ms == pytest.approx(3000)


def test_a_caller_that_reads_too_slowly_is_cut_off_at_its_deadline():
    app, engines = make_app(large=[says(*["word "] * 100)])

    async def scenario():
        metadata = {"perimeter.deadline_ms": "2000"}
        await chat(app, stream=True, send_delay=1.0, metadata=metadata)
        return elapsed_ms()

    # The deadline, the moment for sending, and the most that an error may take to be read.
    assert run(scenario()) <= 2000 + 100 + 5000
    assert len(engines.ended) == len(engines.made)


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_hangs_up_ends_the_call_at_the_engine(stream):
    app, engines = make_app(large=[[TextDelta("It "), STALL]])

    async def scenario():
        gone = asyncio.Event()
        asyncio.get_running_loop().call_later(1, gone.set)
        await chat(app, stream=stream, gone=gone)
        return elapsed_ms(), list(engines.ended)

    ended_ms, ended = run(scenario())
    assert ended_ms == pytest.approx(1000)
    assert ended == [("gpu_small", "host0"), ("gpu_large", "host0")]


def test_a_caller_that_hangs_up_in_the_midst_of_its_body_is_let_go():
    app, engines = make_app()

    async def scenario():
        async def receive():
            return {"type": "http.disconnect"}

        sent: list[object] = []
        headers = [(b"authorization", f"Bearer {KEY}".encode())]
        headers.append((b"content-type", b"application/json"))
        scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions"}
        await app(scope | {"headers": headers}, receive, sent.append)
        return sent

    assert run(scenario()) == []
    assert engines.made == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("GET", "/metrics", 404, "path_not_found"),
        ("POST", "/v1/completions", 404, "path_not_found"),
        ("GET", "/v1/models/", 404, "path_not_found"),
    ],
)
def test_other_methods_and_paths_are_refused_in_the_same_form(method, path, status, code):
    app, _ = make_app()
    response = run(call(app, method, path))
    assert (response.status, response.error["code"]) == (status, code)


def test_health_needs_no_key_and_tells_nothing():
    app, _ = make_app()
    response = run(call(app, "GET", "/health", key=None))
    assert (response.status, response.json) == (200, {"status": "ok"})


def test_the_one_model_is_the_deployment():
    app, _ = make_app()
    response = run(call(app, "GET", "/v1/models"))
    assert [model["id"] for model in response.json["data"]] == ["demo"]


@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions"])
@pytest.mark.parametrize("key", [None, "another"])
def test_without_a_known_key_nothing_else_is_looked_at(path, key):
    app, engines = make_app()
    method = "GET" if path == "/v1/models" else "POST"
    response = run(call(app, method, path, key=key, body=b"not even json"))
    assert (response.status, response.error["code"]) == (401, "invalid_api_key")
    assert engines.made == []


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ({"content-type": "text/plain"}, b"{}", 415, "unsupported_media_type"),
        ({"content-encoding": "gzip"}, b"{}", 415, "unsupported_encoding"),
        ({"content-length": str(MAX_BODY_BYTES + 1)}, b"{}", 413, "body_too_large"),
        ({}, b"x" * (MAX_BODY_BYTES + 1), 413, "body_too_large"),
        ({}, b"{", 400, "invalid_json"),
    ],
)
def test_a_body_that_cannot_be_taken_is_refused(headers, body, status, code):
    app, _ = make_app()
    response = run(call(app, "POST", "/v1/chat/completions", body=body, headers=headers))
    assert (response.status, response.error["code"]) == (status, code)


def test_a_body_that_never_ends_is_given_up():
    app, _ = make_app()
    slow = [(5, b"{")] * 10
    response = run(call(app, "POST", "/v1/chat/completions", slow=slow))
    assert (response.status, response.error["code"]) == (408, "body_too_slow")


def test_an_unforeseen_error_is_answered_and_logged_without_what_it_says(caplog):
    class Broken(FakeTools):
        async def call(self, tool, arguments, context):
            raise RuntimeError("Nordbank owes 5 million")

    app, _ = make_app(tools=Broken())
    with caplog.at_level(logging.INFO, logger="perimeter"):
        response = run(chat(app))
    assert (response.status, response.error["code"]) == (500, "internal_error")
    assert "Nordbank" not in response.body.decode()
    assert "Nordbank" not in caplog.text
    assert "chat failed: " in caplog.text


def test_the_log_has_one_line_per_request_and_no_content(caplog):
    app, _ = make_app()
    with caplog.at_level(logging.INFO, logger="perimeter"):
        response = run(chat(app, messages=[{"role": "user", "content": "Nordbank?"}]))
    [record] = caplog.records
    trace_id = response.headers["x-request-id"]
    assert record.getMessage() == (
        f"chat status=200 tenant=analysts outcome=ok ms=0 trace={trace_id}"
    )


def test_the_root_span_tells_tenant_intent_label_and_status():
    tracer, spans = recording_tracer()
    app, _ = make_app(tracer=tracer)
    run(chat(app, metadata=STEPS))
    [root] = [span for span in spans() if span.parent is None]
    assert root.name == "invoke_workflow demo"
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_workflow",
        "perimeter.deployment": "demo",
        "perimeter.place": "on_prem",
        "perimeter.tenant": "analysts",
        "perimeter.label": "C1",
        "perimeter.intent": "lookup",
        "gen_ai.request.stream": False,
        "http.response.status_code": 200,
    }


def test_a_request_that_is_given_up_leaves_no_span_open():
    tracer, spans = recording_tracer()
    app, _ = make_app(large=[[STALL]], tracer=tracer)

    async def scenario():
        gone = asyncio.Event()
        asyncio.get_running_loop().call_later(1, gone.set)
        await chat(app, gone=gone)

    run(scenario())
    found = {span.name: span.attributes.get("error.type") for span in spans()}
    assert found["chat gpu_large-model"] == "cancelled"
    assert found["invoke_workflow demo"] == "client_gone"


def test_what_the_app_holds_is_closed_in_order_at_shutdown():
    closed = []

    async def first():
        closed.append("first")

    async def second():
        closed.append("second")

    app, _ = make_app(on_close=(first, second))

    async def scenario():
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent = []

        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message["type"])

        await app({"type": "lifespan"}, receive, send)
        return sent

    assert run(scenario()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert closed == ["first", "second"]
