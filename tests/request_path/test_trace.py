import asyncio
from itertools import pairwise

import pytest
from opentelemetry.trace import NoOpTracer, StatusCode

from lambdas.assistant import semantic_names as names
from lambdas.assistant.backend import Failure
from lambdas.assistant.trace import Trace
from tests.request_path.fakes import (
    FakeTools,
    ScriptedBackend,
    Sleep,
    calls,
    chat_request,
    converse,
    fails,
    make_assistant,
    says,
)
from tests.request_path.plans import make_plan
from tests.request_path.spans import recording_tracer
from tests.request_path.virtual_time import UNIX_NS, VirtualClock, run

CONTENT = "Nordbank-4711"
LIMIT = ("get_limit", f'{{"counterparty": "{CONTENT}", "product": "swap"}}')


def traced_turn(stream=True):
    """A turn with one failed attempt, a tool call and an answer, all holding CONTENT."""
    tracer, spans = recording_tracer()
    slow = [Sleep(0.25), *says(f"{CONTENT} has ", "5.")]
    engines = ScriptedBackend(
        {"gpu_small": [fails(Failure.OVERLOADED), calls(LIMIT)], "gpu_large": [slow]}
    )
    tools = FakeTools({"get_limit": [Sleep(1), f'{{"{CONTENT}": 5}}']})
    assistant = make_assistant(make_plan(), engines, tools)
    request = chat_request(f"The swap limit of {CONTENT}?", stream=stream)
    outcome = run(converse(assistant, request, tracer=tracer))
    return outcome, spans()


def test_every_step_of_a_turn_is_recorded_in_its_order():
    outcome, _ = traced_turn()
    assert [(step.name, step.parent) for step in outcome.trace.steps] == [
        ("label", None),
        ("pools", None),
        ("route", None),
        ("prompt", None),
        ("attempt", None),
        ("attempt", None),
        ("tools", None),
        ("tool", "tools"),
        ("pools", None),
        ("answer", None),
        ("attempt", "answer"),
        ("stream", "answer"),
    ]


def test_steps_without_a_parent_do_not_overlap_and_account_for_the_whole_turn():
    outcome, _ = traced_turn()
    top = [step for step in outcome.trace.steps if step.parent is None]
    assert all(one.end_ns <= two.start_ns for one, two in pairwise(top))
    assert sum(step.end_ns - step.start_ns for step in top) / 1e6 == pytest.approx(
        outcome.ended_ms, abs=0.001
    )


def test_spans_form_one_tree_whose_times_are_wall_times():
    _, spans = traced_turn()
    by_id = {span.context.span_id: span for span in spans}
    roots = [span for span in spans if span.parent is None]
    assert len(roots) == 1
    assert len({span.context.trace_id for span in spans}) == 1
    for span in spans:
        assert UNIX_NS <= span.start_time <= span.end_time
        if span.parent is not None:
            parent = by_id[span.parent.span_id]
            assert parent.start_time <= span.start_time <= span.end_time <= parent.end_time


def test_attempts_and_tools_carry_the_conventional_names():
    _, spans = traced_turn()
    named = {span.name: dict(span.attributes) for span in spans}
    assert named["execute_tool get_limit"] == {
        names.STEP: "tool",
        names.OPERATION: "execute_tool",
        names.TOOL_NAME: "get_limit",
        names.DATA_LABEL: "C3",
        names.OUTCOME: "ok",
    }
    chat = named["chat gpu_large-model"]
    assert chat[names.PROVIDER] == "vllm"
    assert chat[names.INPUT_TOKENS] == 10
    assert chat[names.FIRST_CHUNK_SECONDS] == pytest.approx(0.25)
    assert chat[names.FINISH_REASONS] == ("stop",)
    assert (chat[names.POOL], chat[names.REPLICA]) == ("gpu_large", "host0")


def test_a_failed_attempt_is_an_error_with_a_fixed_word():
    _, spans = traced_turn()
    [failed] = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert failed.attributes[names.ERROR_TYPE] == "overloaded"
    assert failed.status.description is None
    assert failed.events == ()


@pytest.mark.parametrize("stream", [False, True])
def test_no_span_holds_anything_that_was_said(stream):
    outcome, spans = traced_turn(stream)
    assert CONTENT in outcome.text
    for span in spans:
        assert CONTENT not in repr((span.name, dict(span.attributes), span.events, span.status))


def test_the_name_of_a_tool_that_the_model_invented_stays_out_of_spans():
    tracer, spans = recording_tracer()
    engines = ScriptedBackend({"gpu_small": [calls((CONTENT, "{}"))]})
    outcome = run(converse(make_assistant(make_plan(), engines), chat_request(), tracer=tracer))
    assert CONTENT in outcome.error.message
    assert all(CONTENT not in repr((s.name, dict(s.attributes), s.events)) for s in spans())
    [tools] = [span for span in spans() if span.name == "tools"]
    assert tools.attributes[names.ERROR_TYPE] == "tool_not_offered"


def test_a_caller_that_is_traced_gets_our_spans_below_its_own():
    tracer, spans = recording_tracer()
    clock = VirtualClock()
    trace = Trace(
        clock=clock,
        tracer=tracer,
        root_name="turn",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        start_ns=clock.monotonic_ns(),
    )
    with trace.step("attempt") as step:
        headers = dict(step.headers())
    trace.end()
    assert trace.trace_id == "0af7651916cd43dd8448eb211c80319c"
    [attempt, root] = spans()
    assert f"{root.parent.span_id:016x}" == "b7ad6b7169203331"
    assert headers["traceparent"] == (f"00-{trace.trace_id}-{attempt.context.span_id:016x}-01")


def test_without_a_tracer_there_is_a_trace_id_but_no_header():
    clock = VirtualClock()
    trace = Trace(clock=clock, tracer=NoOpTracer(), root_name="turn", traceparent=None, start_ns=0)
    with trace.step("attempt") as step:
        assert step.headers() == ()
    assert len(trace.trace_id) == 32


def test_a_step_that_is_cancelled_says_so():
    async def scenario():
        clock = VirtualClock()
        trace = Trace(
            clock=clock, tracer=NoOpTracer(), root_name="turn", traceparent=None, start_ns=0
        )

        async def stalled():
            with trace.step("attempt"):
                await asyncio.sleep(5)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stalled(), 1)
        return trace.steps[0]

    assert run(scenario()).attributes == {names.ERROR_TYPE: "cancelled"}


def test_no_name_for_content_is_among_those_that_may_leave():
    assert names.DATA_LABEL in names.EXPORTED
    assert "admit" not in names.EXPORTED
    for word in ("messages", "arguments", "result", "instructions", "definitions"):
        assert not [name for name in names.EXPORTED if name.endswith(word)]
