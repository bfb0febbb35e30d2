"""The OpenAI client against the gateway over real HTTP, with stand-ins that fail on demand."""

import json
from contextlib import ExitStack, contextmanager

import openai
import pytest

from tests.contracts.fake_vllm import (
    CUT,
    FIRST,
    STALL,
    FakeTools,
    FakeVllm,
    Status,
    calls,
    chunk,
    says,
)
from tests.contracts.gateways import (
    CLIENT_KEY,
    ENGINE_KEY,
    PATIENT_MS,
    openai_client,
    plan_for,
    running_gateway,
)
from tests.contracts.loopback import LoopbackServer
from tests.lab.ports import free_port
from tests.request_path.plans import SYSTEM

ARGUMENTS = '{"currency_pair": "EUR/USD", "date": "2026-01-05"}'
RATE = ("get_rate", ARGUMENTS)
QUESTION = [{"role": "user", "content": "EUR/USD on 2026-01-05?"}]
STEPS = {"perimeter.trace": "steps", "perimeter.label": "C1"}


# Long for a stand-in that answers at once, short for a test that waits for it to run out.
SHORT_MS = 2_000


class Parts:
    """The engines and tools behind a gateway, and a client in front of it."""

    def __init__(self, small, large, tools, client):
        self.small, self.large, self.tools = small, large, tools
        self.client = client

    def ask(self, messages=None, **options):
        return self.client.chat.completions.create(
            model="demo", messages=messages or QUESTION, **options
        )

    def refusal(self, **options):
        with pytest.raises(openai.APIStatusError) as refused:
            self.ask(**options)
        return refused.value


@contextmanager
def parts(
    folder, *, small=None, large=None, tools=None, dead_replica=False, budget_ms=PATIENT_MS, **more
):
    """A gateway over fakes. `dead_replica` puts an address that refuses before each pool's own."""
    small = small or FakeVllm(calls(RATE))
    large = large or FakeVllm(says("It was ", "1.0850."))
    tools = tools or FakeTools(get_rate={"rate": 1.085})
    with ExitStack() as stack:
        servers = [stack.enter_context(LoopbackServer(app)) for app in (small, large, tools)]
        urls = [server.url for server in servers]
        first = [f"http://127.0.0.1:{free_port()}"] if dead_replica else []
        document = plan_for(
            small=[*first, urls[0]], large=[*first, urls[1]], tools=urls[2], budget_ms=budget_ms
        )
        gateway = stack.enter_context(running_gateway(folder, document, **more))
        client = stack.enter_context(openai_client(gateway.url))
        yield Parts(small, large, tools, client)
        for server in (gateway, *servers):
            server.ask_to_stop()


def test_a_question_is_answered_with_the_figure_a_tool_gave(tmp_path):
    with parts(tmp_path) as found:
        completion = found.ask(metadata=STEPS)
        assert completion.choices[0].message.content == "It was 1.0850."
        assert completion.choices[0].finish_reason == "stop"
        assert completion.usage.total_tokens == 640
        [call] = completion.perimeter["tool_calls"]
        assert (call["name"], call["result"], call["ok"]) == ("get_rate", {"rate": 1.085}, True)
        assert completion._request_id == completion.perimeter["trace_id"]


def test_the_engine_gets_its_key_and_the_tool_gets_the_arguments(tmp_path):
    with parts(tmp_path) as found:
        found.ask()
        assert found.small.headers[0]["authorization"] == f"Bearer {ENGINE_KEY}"
        assert found.small.bodies[0]["model"] == "gpu_small-model"
        assert found.large.bodies[0]["tool_choice"] == "none"
        [(name, arguments, headers)] = found.tools.calls
        assert (name, arguments) == ("get_rate", json.loads(ARGUMENTS))
        assert "authorization" not in headers
        assert headers["perimeter-tenant"] == "analysts"


def test_a_stream_hands_on_each_delta_and_ends_with_the_breakdown(tmp_path):
    with parts(tmp_path) as found:
        chunks = list(found.ask(stream=True, metadata=STEPS))
        texts = [chunk.choices[0].delta.content for chunk in chunks]
        assert [text for text in texts if text] == ["It was ", "1.0850."]
        assert chunks[0].choices[0].delta.role == "assistant"
        assert chunks[-1].choices[0].finish_reason == "stop"
        steps = [step["name"] for step in chunks[-1].perimeter["steps"]]
        assert steps[-3:] == ["answer", "attempt", "stream"]


def test_a_follow_up_sends_the_turn_back_and_the_engine_sees_the_same_bytes(tmp_path):
    with parts(tmp_path) as found:
        first = found.ask(metadata=STEPS)
        again = [*QUESTION, *first.perimeter["messages"], {"role": "user", "content": "And GBP?"}]
        assert found.ask(again).choices[0].message.content == "It was 1.0850."
        begun = found.large.bodies[0]["messages"]
        assert found.small.bodies[1]["messages"][: len(begun)] == begun
        assert begun[0] == {"role": "system", "content": SYSTEM}
        assert begun[-1]["content"] == '{"rate": 1.085}'


def test_a_client_may_append_the_message_object_it_was_given(tmp_path):
    with parts(tmp_path, small=FakeVllm(says("Which date?"))) as found:
        message = found.ask().choices[0].message
        again = [*QUESTION, message, {"role": "user", "content": "Today."}]
        assert found.ask(again).choices[0].message.content == "Which date?"


FAULTS = {
    "500": Status(500),
    "503": Status(503),
    "429": Status(429),
    "stalls at once": [STALL],
    "stalls after the role": [FIRST, STALL],
    "drops at once": [CUT],
    "drops after the role": [FIRST, CUT],
    "broken json": [b"data: {not json}\n\n"],
    "error page": [b"<html>an error page</html>"],
    "aborts": [chunk(finish="abort"), b"data: [DONE]\n\n"],
    "error event": [b'data: {"error": {"message": "EngineCore died", "code": 500}}\n\n'],
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_before_the_first_text_is_never_seen(tmp_path, fault, stream):
    faulty, good = FakeVllm(fault), FakeVllm(says("Fine."))
    budget_ms = SHORT_MS if STALL in (fault if isinstance(fault, list) else []) else PATIENT_MS
    with LoopbackServer(faulty) as one, LoopbackServer(good) as two:
        document = plan_for(
            small=[one.url], large=[one.url, two.url], tools=one.url, budget_ms=budget_ms
        )
        with running_gateway(tmp_path, document) as gateway, openai_client(gateway.url) as client:
            answer = client.chat.completions.create(
                model="demo",
                messages=QUESTION,
                metadata={"perimeter.intent": "explain"},
                stream=stream,
            )
            if stream:
                text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
            else:
                text = answer.choices[0].message.content
            for server in (gateway, one, two):
                server.ask_to_stop()
    assert text == "Fine."
    assert (len(faulty.bodies), len(good.bodies)) == (1, 1)


def test_a_host_that_refuses_connections_is_passed_over(tmp_path):
    with parts(tmp_path, dead_replica=True) as found:
        completion = found.ask(metadata=STEPS)
        assert completion.choices[0].message.content == "It was 1.0850."
        attempts = completion.perimeter["attempts"]
        assert [(a["replica"], a["outcome"]) for a in attempts] == [
            ("host0", "connection"),
            ("host1", "ok"),
        ] * 2


@pytest.mark.parametrize(
    ("fault", "word"), [([STALL], "gap_timeout"), ([CUT], "connection")], ids=["stall", "cut"]
)
def test_a_stream_that_breaks_off_says_so_and_nobody_else_finishes_it(tmp_path, fault, word):
    large = FakeVllm([FIRST, chunk({"content": "It was "}), *fault])
    budget_ms = SHORT_MS if STALL in fault else PATIENT_MS
    with parts(tmp_path, large=large, budget_ms=budget_ms) as found:
        texts: list[str | None] = []

        def read():
            texts.extend(part.choices[0].delta.content for part in found.ask(stream=True))

        with pytest.raises(openai.APIError) as broken:
            read()
        assert [text for text in texts if text] == ["It was "]
        assert broken.value.code == "stream_interrupted"
        assert word in broken.value.message
        assert len(large.bodies) == 1


def test_a_client_that_hangs_up_ends_the_request_at_the_engine(tmp_path):
    large = FakeVllm([FIRST, chunk({"content": "It was "}), STALL])
    with parts(tmp_path, large=large) as found:
        stream = found.ask(stream=True)
        for part in stream:
            if part.choices[0].delta.content:
                break
        stream.close()
        assert large.hung_up.wait(30)


def test_text_is_whole_wherever_the_network_cuts_it(tmp_path):
    whole = b"".join(says("déjà ", "vu \N{EURO SIGN}"))
    large = FakeVllm([whole[n : n + 7] for n in range(0, len(whole), 7)])
    with parts(tmp_path, large=large) as found:
        assert found.ask().choices[0].message.content == "déjà vu \N{EURO SIGN}"


def test_the_newlines_after_an_empty_thinking_block_are_not_in_the_answer(tmp_path):
    large = FakeVllm([FIRST, chunk({"content": "\n\n"}), *says("Fine.")[1:]])
    with parts(tmp_path, large=large) as found:
        assert found.ask().choices[0].message.content == "Fine."


@pytest.mark.parametrize(
    ("small", "code"),
    [
        (calls(("get_news", "{}")), "tool_not_offered"),
        (calls(("get_rate", '{"date": 5}')), "tool_arguments_invalid"),
        (calls(("get_rate", '{"date": "20')), "tool_arguments_invalid"),
        (says('<tool_call>\n{"name": "get_rate", '), "tool_call_malformed"),
    ],
    ids=["not offered", "wrong type", "cut off", "as text"],
)
def test_a_call_that_may_not_be_run_is_refused_and_no_tool_hears_of_it(tmp_path, small, code):
    with parts(tmp_path, small=FakeVllm(small)) as found:
        error = found.refusal()
        assert isinstance(error, openai.InternalServerError)
        assert (error.status_code, error.code) == (502, code)
        assert error.response.headers["x-should-retry"] == "false"
        assert found.tools.calls == []


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((500, b"{}"), "tool_error"),
        ((302, b"{}"), "tool_error"),
        ((404, b"<html>"), "tool_error"),
        ((200, b"<html>"), "tool_result_not_json"),
        ((200, b"\xff"), "tool_result_not_json"),
        ((200, b'"' + b"x" * 300_000 + b'"'), "tool_result_too_large"),
        (STALL, "tool_time_limit"),
    ],
    ids=["500", "redirect", "404 page", "page", "not text", "too large", "stalls"],
)
def test_a_tool_that_gives_no_result_ends_the_request_with_its_reason(tmp_path, answer, code):
    budget_ms = SHORT_MS if answer == STALL else PATIENT_MS
    tools = FakeTools(get_rate=answer)
    with parts(tmp_path, tools=tools, budget_ms=budget_ms) as found:
        error = found.refusal()
        assert (error.status_code, error.code) == (502, code)
        assert found.large.bodies == []


def test_a_tool_that_nobody_serves_is_unreachable(tmp_path):
    small, large = FakeVllm(calls(RATE)), FakeVllm(says("x"))
    with LoopbackServer(small) as one, LoopbackServer(large) as two:
        nowhere = f"http://127.0.0.1:{free_port()}"
        document = plan_for(small=[one.url], large=[two.url], tools=nowhere)
        with (
            running_gateway(tmp_path, document) as gateway,
            openai_client(gateway.url) as client,
            pytest.raises(openai.InternalServerError) as failed,
        ):
            client.chat.completions.create(model="demo", messages=QUESTION)
    assert failed.value.code == "tool_unreachable"


@pytest.mark.parametrize("status", [404, 422])
def test_a_tool_that_says_no_in_json_is_heard(tmp_path, status):
    tools = FakeTools(get_rate=(status, b'{"error": "no such pair"}'))
    with parts(tmp_path, tools=tools) as found:
        completion = found.ask(metadata=STEPS)
        assert completion.perimeter["tool_calls"][0]["ok"] is False
        assert found.large.bodies[0]["messages"][-1]["content"] == '{"error": "no such pair"}'


def test_an_engine_that_refuses_the_key_is_a_fault_of_the_deployment(tmp_path):
    with parts(tmp_path, small=FakeVllm(Status(401))) as found:
        error = found.refusal()
        assert (error.status_code, error.code) == (502, "engine_refused")


def test_a_prompt_that_is_too_long_is_the_callers_to_shorten(tmp_path):
    message = "This model's maximum context length is 2048 tokens, and the prompt has 2049."
    status = Status(400, {"error": {"message": message, "type": "BadRequestError", "code": 400}})
    with parts(tmp_path, small=FakeVllm(status)) as found:
        error = found.refusal()
        assert isinstance(error, openai.BadRequestError)
        assert (error.code, error.param) == ("context_length_exceeded", "messages")


def test_the_client_raises_its_own_errors_for_ours(tmp_path):
    with parts(tmp_path) as found:
        assert isinstance(found.refusal(tools=[]), openai.BadRequestError)
        assert isinstance(
            found.refusal(messages=[{"role": "system", "content": "x"}]), openai.BadRequestError
        )
        assert isinstance(
            found.refusal(metadata={"perimeter.intent": "trade"}), openai.NotFoundError
        )
        found.client.api_key = CLIENT_KEY + "x"
        assert isinstance(found.refusal(), openai.AuthenticationError)


def test_a_label_that_no_pool_may_hold_is_a_permission_error_and_nothing_is_called(tmp_path):
    with ExitStack() as stack:
        small = FakeVllm(says("x"))
        url = stack.enter_context(LoopbackServer(small)).url
        document = plan_for(small=[url], large=[url], tools=url)
        document["pools"]["gpu_small"]["may_hold"] = "C2"
        gateway = stack.enter_context(running_gateway(tmp_path, document))
        client = stack.enter_context(openai_client(gateway.url))
        with pytest.raises(openai.PermissionDeniedError) as refused:
            client.chat.completions.create(model="demo", messages=QUESTION)
    assert refused.value.code == "label_refused"
    assert small.bodies == []


def test_the_list_of_models_names_the_deployment(tmp_path):
    with parts(tmp_path) as found:
        assert [model.id for model in found.client.models.list()] == ["demo"]
