"""Attempts: switching before the commit point, never after, and never past a budget."""

import pytest

from lambdas.assistant.backend import Failure, Finished, ReasoningDelta, TextDelta
from lambdas.assistant.breaker import FAILURES_TO_OPEN
from lambdas.assistant.errors import (
    DeadlineExceeded,
    EngineFailed,
    EngineUnavailable,
    RequestInvalid,
    ToolCallRefused,
)
from tests.request_path.fakes import (
    STALL,
    ScriptedBackend,
    Sleep,
    calls,
    chat_request,
    converse,
    fails,
    make_assistant,
    says,
)
from tests.request_path.plans import make_plan, plan_document, vllm_pool
from tests.request_path.virtual_time import run

GOES_ON = [
    Failure.CONNECTION,
    Failure.CONNECT_TIMEOUT,
    Failure.OVERLOADED,
    Failure.SERVER_ERROR,
    Failure.CUT,
    Failure.PROTOCOL,
]


def explain(backend, *, plan=None, stream=False, **changes):
    """One turn of the intent without tools: a single call of the large tier."""
    request = chat_request(intent="explain", stream=stream, **changes)
    assistant = make_assistant(plan or make_plan(), backend)
    return run(converse(assistant, request))


def backend(*scripts):
    return ScriptedBackend({"gpu_large": list(scripts), "spare": [says("spare")]})


def with_spare_pool():
    document = plan_document()
    document["pools"]["spare"] = vllm_pool("spare", replicas=1)
    document["tiers"]["large"] = ["gpu_large", "spare"]
    return make_plan(document)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", GOES_ON)
def test_a_failure_before_the_first_text_goes_to_another_replica(failure, stream):
    engines = backend(fails(failure), says("Fine."))
    outcome = explain(engines, stream=stream)
    assert outcome.text == "Fine."
    assert [replica for _, replica, _ in engines.made] == ["host0", "host1"]


@pytest.mark.parametrize("stream", [False, True])
def test_after_two_replicas_the_next_pool_of_the_tier_is_tried(stream):
    engines = backend(fails(), fails())
    outcome = explain(engines, plan=with_spare_pool(), stream=stream)
    assert outcome.text == "spare"
    assert engines.pools == ["gpu_large", "gpu_large", "spare"]


@pytest.mark.parametrize("failure", [Failure.REFUSED, Failure.CONTEXT_LENGTH])
def test_what_an_engine_refuses_is_not_sent_to_another(failure):
    engines = backend(fails(failure))
    outcome = explain(engines, plan=with_spare_pool())
    assert len(engines.made) == 1
    assert isinstance(outcome.error, EngineFailed | RequestInvalid)


def test_a_conversation_that_is_too_long_is_the_callers_error():
    error = explain(backend(fails(Failure.CONTEXT_LENGTH))).error
    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "messages")
    assert "leave out earlier turns" in error.message


def test_when_nobody_answers_the_error_lists_who_was_tried_and_how_each_failed():
    error = explain(backend(fails(), fails(Failure.SERVER_ERROR))).error
    assert isinstance(error, EngineUnavailable)
    assert error.message == (
        "no engine gave a reply (gpu_large/host0: connection, gpu_large/host1: server_error); "
        "the request can be sent again"
    )
    assert (error.status, error.code, error.retry) == (503, "engines_unavailable", True)


def test_when_every_queue_is_full_the_code_says_so():
    error = explain(backend(fails(Failure.OVERLOADED))).error
    assert error.code == "engines_busy"


@pytest.mark.parametrize("failure", GOES_ON)
def test_after_the_first_text_there_is_no_switch(failure):
    engines = backend(fails(failure, after=[TextDelta("The rate ")]), says("Fine."))
    outcome = explain(engines, stream=True)
    assert outcome.pieces == ["The rate "]
    assert len(engines.made) == 1
    assert outcome.error.code == "stream_interrupted"
    assert outcome.error.message == (
        f"the answer broke off ({failure}); what was sent so far is not complete"
    )


def test_a_whole_response_commits_to_nothing_until_it_is_complete():
    engines = backend(fails(Failure.CUT, after=[TextDelta("The rate ")]), says("Fine."))
    outcome = explain(engines, stream=False)
    assert outcome.text == "Fine."


def test_reasoning_does_not_commit():
    engines = backend(fails(Failure.CUT, after=[ReasoningDelta("Hm.")]), says("Fine."))
    outcome = explain(engines, stream=True)
    assert outcome.text == "Fine."
    assert len(engines.made) == 2


def test_a_stall_before_the_first_token_costs_its_budget_and_no_more():
    engines = backend([STALL], says("Fine."))
    outcome = explain(engines, stream=True)
    assert outcome.text == "Fine."
    assert outcome.ended_ms == pytest.approx(5000)
    assert engines.ended[0] == ("gpu_large", "host0")


def test_a_stall_between_tokens_ends_a_stream_after_the_gap_budget():
    outcome = explain(backend([TextDelta("The "), STALL]), stream=True)
    assert outcome.error.code == "stream_interrupted"
    assert "gap_timeout" in outcome.error.message
    assert outcome.ended_ms == pytest.approx(2000)


def test_the_deadline_ends_an_attempt_before_its_budget_does():
    async def scenario():
        assistant = make_assistant(make_plan(), backend([STALL]))
        return await converse(assistant, chat_request(intent="explain"), deadline_ms=800)

    outcome = run(scenario())
    assert isinstance(outcome.error, DeadlineExceeded)
    assert outcome.ended_ms == pytest.approx(800)


def test_no_attempt_starts_once_the_deadline_has_passed():
    async def scenario():
        engines = backend([Sleep(1.0), Failure.CONNECTION], says("too late"))
        assistant = make_assistant(make_plan(), engines)
        outcome = await converse(assistant, chat_request(intent="explain"), deadline_ms=1000)
        return engines, outcome

    engines, outcome = run(scenario())
    assert isinstance(outcome.error, DeadlineExceeded)
    assert len(engines.made) == 1


def test_a_slow_answer_is_cut_at_the_deadline_with_the_deadlines_error():
    drip = [item for _ in range(50) for item in (TextDelta("x"), Sleep(1))]

    async def scenario():
        assistant = make_assistant(make_plan(), backend(drip))
        request = chat_request(intent="explain", stream=True)
        return await converse(assistant, request, deadline_ms=3500)

    outcome = run(scenario())
    assert outcome.pieces == ["x"] * 4
    assert isinstance(outcome.error, DeadlineExceeded)
    assert outcome.ended_ms == pytest.approx(3500)


def test_a_dead_replica_is_left_alone_after_five_refused_connections():
    async def scenario():
        engines = ScriptedBackend({"gpu_large": [fails()]})
        document = plan_document()
        document["pools"]["gpu_large"] = vllm_pool("gpu_large", replicas=1)
        document["tiers"]["large"] = ["gpu_large", "gpu_small"]
        engines.scripts["gpu_small"] = [says("small")]
        assistant = make_assistant(make_plan(document), engines)
        for _ in range(FAILURES_TO_OPEN + 3):
            assert (await converse(assistant, chat_request(intent="explain"))).text == "small"
        return engines

    assert run(scenario()).pools.count("gpu_large") == FAILURES_TO_OPEN


def test_a_full_queue_does_not_open_the_breaker():
    async def scenario():
        engines = ScriptedBackend({"gpu_large": [fails(Failure.OVERLOADED)]})
        assistant = make_assistant(make_plan(), engines)
        for _ in range(FAILURES_TO_OPEN * 2):
            await converse(assistant, chat_request(intent="explain"))
        return engines

    assert len(run(scenario()).made) == FAILURES_TO_OPEN * 2 * 2


def test_leading_newlines_are_not_part_of_an_answer():
    assert explain(backend(says("\n", "\nFine.\n", "Yes.")), stream=True).pieces == [
        "Fine.\n",
        "Yes.",
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call_that_arrives_as_text_is_refused_before_any_of_it_is_sent(stream):
    engines = backend(says("\n<tool", '_call>\n{"name": "get_rate"'), says("Fine."))
    outcome = explain(engines, stream=stream)
    assert outcome.pieces == []
    assert isinstance(outcome.error, ToolCallRefused)
    assert outcome.error.code == "tool_call_malformed"
    assert len(engines.made) == 1


def test_text_that_only_looks_like_a_call_for_a_moment_is_sent_whole():
    assert explain(backend(says("<to", "fu> is not a call")), stream=True).text == (
        "<tofu> is not a call"
    )
    assert explain(backend(says("<tool"))).text == "<tool"


def test_an_engine_that_calls_tools_where_none_are_allowed_is_not_understood():
    engines = backend(calls(("get_rate", "{}")), says("Fine."))
    assert explain(engines).text == "Fine."


def test_with_reasoning_off_an_answer_filed_under_reasoning_is_the_answer():
    document = plan_document()
    document["intents"]["explain"]["reasoning"] = False
    engines = backend([ReasoningDelta("\n\nIt "), ReasoningDelta("is."), *says()])
    assert explain(engines, plan=make_plan(document)).text == "It is."


def test_with_reasoning_on_reasoning_is_never_the_answer():
    engines = backend([ReasoningDelta("It is."), *says()])
    error = explain(engines).error
    assert (error.status, error.code) == (502, "answer_empty")


def test_a_reply_that_never_finishes_was_cut():
    engines = backend([TextDelta("The ra")], says("Fine."))
    assert explain(engines).text == "Fine."


@pytest.mark.parametrize("stream", [False, True])
def test_once_the_model_is_done_a_missing_count_of_tokens_is_no_failure(stream):
    done = [TextDelta("Fine."), Finished("stop"), Failure.CONNECTION]
    engines = backend(done, says("Again."))
    outcome = explain(engines, stream=stream)
    assert (outcome.text, outcome.error) == ("Fine.", None)
    assert len(engines.made) == 1
