"""The tool loop: who is asked what, which calls are run, and whose text is the answer."""

import json

import pytest

from lambdas.assistant.backend import TextDelta, Usage
from lambdas.assistant.errors import LabelRefused, ToolCallRefused, ToolFailed
from lambdas.assistant.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from lambdas.assistant.tools import ToolFailure
from tests.request_path.fakes import (
    FakeTools,
    ScriptedBackend,
    Sleep,
    calls,
    chat_request,
    converse,
    make_assistant,
    says,
)
from tests.request_path.plans import http_tool, intent, make_plan, plan_document
from tests.request_path.virtual_time import run

RATE = ("get_rate", '{"currency_pair": "EUR/USD", "date": "2026-01-05"}')
LIMIT = ("get_limit", '{"counterparty": "Nordbank", "product": "swap"}')


def lookup(*small, large=None, tools=None, plan=None, request=None, **changes):
    engines = ScriptedBackend({"gpu_small": list(small), "gpu_large": [large or says("Done.")]})
    tools = FakeTools() if tools is None else tools
    assistant = make_assistant(plan or make_plan(), engines, tools)
    outcome = run(converse(assistant, request or chat_request(**changes)))
    return engines, tools, outcome


def test_the_small_model_picks_the_tool_and_the_large_one_writes_the_answer():
    tools = FakeTools({"get_rate": '{"rate":1.0850}'})
    engines, tools, outcome = lookup(calls(RATE), large=says("It was 1.0850."), tools=tools)
    assert engines.pools == ["gpu_small", "gpu_large"]
    assert tools.names == ["get_rate"]
    assert outcome.text == "It was 1.0850."
    picking, writing = engines.requests
    assert (picking.may_call_tools, picking.max_tokens) == (True, 256)
    assert (writing.may_call_tools, writing.max_tokens) == (False, 128)
    assert picking.prefix is writing.prefix


def test_the_answering_model_reads_the_call_and_the_result_as_the_tool_wrote_it():
    tools = FakeTools({"get_rate": '{"rate":1.0850}'})
    engines, _, _ = lookup(calls(RATE), tools=tools)
    assert engines.requests[1].messages == (
        UserMessage("What is the rate?"),
        AssistantMessage("", (ToolCall("call-get_rate-0", *RATE),)),
        ToolMessage("call-get_rate-0", '{"rate": 1.0850}'),
    )


def test_tools_of_one_round_run_at_the_same_time():
    tools = FakeTools({"get_rate": [Sleep(1), "1"], "get_limit": [Sleep(1.5), "2"]})
    _, tools, outcome = lookup(calls(RATE, LIMIT), tools=tools)
    assert [began for *_, began in tools.made] == [0, 0]
    assert outcome.ended_ms == pytest.approx(1500)


def test_results_keep_the_order_of_the_calls_whichever_is_ready_first():
    tools = FakeTools({"get_rate": [Sleep(1.5), '"slow"'], "get_limit": [Sleep(1), '"fast"']})
    engines, _, _ = lookup(calls(RATE, LIMIT), tools=tools)
    assert [m.content for m in engines.requests[1].messages[2:]] == ['"slow"', '"fast"']


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_without_a_call_is_the_answer(stream):
    engines, tools, outcome = lookup(says("Which ", "date?"), stream=stream)
    assert outcome.text == "Which date?"
    assert engines.pools == ["gpu_small"]
    assert tools.names == []


def test_a_text_before_a_call_is_never_handed_on():
    preamble = [TextDelta("Let me look. "), *calls(RATE)]
    engines, _, outcome = lookup(preamble, large=says("1.0850."), stream=True)
    assert outcome.pieces == ["1.0850."]
    assert engines.requests[1].messages[1].content == "Let me look. "


def test_a_call_to_a_tool_that_is_not_offered_is_refused_and_nothing_is_run():
    _, tools, outcome = lookup(calls(RATE, ("get_news", "{}")))
    assert isinstance(outcome.error, ToolCallRefused)
    assert outcome.error.code == "tool_not_offered"
    assert outcome.error.message == (
        "the model called 'get_news', which the intent 'lookup' does not offer "
        "(it offers get_limit, get_rate); no tool was run"
    )
    assert tools.made == []


def test_a_tool_of_another_intent_is_not_offered_either():
    document = plan_document()
    document["intents"]["lookup"] = intent("lookup", ["get_rate"])
    _, tools, outcome = lookup(calls(LIMIT), plan=make_plan(document))
    assert outcome.error.code == "tool_not_offered"
    assert tools.made == []


@pytest.mark.parametrize(
    "arguments",
    [
        '{"currency_pair": "EUR/USD"}',
        '{"currency_pair": "EUR/USD", "date": 5}',
        '{"currency_pair": "EUR/USD", "date": "x", "more": 1}',
        '{"currency_pair": "EUR/USD", "date": "2026',
        '{"currency_pair": "EUR/USD", "currency_pair": "x", "date": "y"}',
        '["EUR/USD"]',
        "",
    ],
)
def test_arguments_that_do_not_fit_the_schema_are_refused_and_nothing_is_run(arguments):
    _, tools, outcome = lookup(calls(LIMIT, ("get_rate", arguments)))
    assert outcome.error.code == "tool_arguments_invalid"
    assert outcome.error.message.startswith(
        "the model called 'get_rate' with arguments that do not fit its schema: "
    )
    assert tools.made == []


def test_more_calls_than_a_round_may_have_are_refused():
    _, tools, outcome = lookup(calls(*[RATE] * 17))
    assert outcome.error.code == "too_many_tool_calls"
    assert tools.made == []


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ToolFailure.UNREACHABLE, "could not be reached"),
        (ToolFailure.ERROR, "answered with a server error"),
        ("not json", "answered with something that is not JSON"),
        ([Sleep(9), "1"], "gave no result within its 2000 ms"),
    ],
)
def test_without_a_tools_result_there_is_no_answer(failure, reason):
    engines, _, outcome = lookup(calls(RATE), tools=FakeTools({"get_rate": failure}))
    assert isinstance(outcome.error, ToolFailed)
    assert outcome.error.message == (
        f"the tool 'get_rate' {reason}; without its result there is no answer"
    )
    assert engines.pools == ["gpu_small"]


def test_a_failing_tool_does_not_cut_the_others_short():
    tools = FakeTools({"get_rate": ToolFailure.ERROR, "get_limit": [Sleep(1), "1"]})
    _, tools, outcome = lookup(calls(RATE, LIMIT), tools=tools)
    assert tools.finished == ["get_rate", "get_limit"]
    assert outcome.error.code == "tool_error"


def test_a_tool_that_says_no_is_heard_by_the_model():
    tools = FakeTools({"get_rate": ('{"error": "no such pair"}', False)})
    engines, _, outcome = lookup(calls(RATE), tools=tools)
    assert engines.requests[1].messages[2].content == '{"error": "no such pair"}'
    assert [run.ok for run in outcome.record.tool_runs] == [False]


def test_a_tool_gets_no_more_time_than_the_deadline_leaves():
    async def scenario():
        engines = ScriptedBackend({"gpu_small": [calls(RATE)], "gpu_large": [says("x")]})
        tools = FakeTools({"get_rate": [Sleep(1.9), "1"]})
        assistant = make_assistant(make_plan(), engines, tools)
        return await converse(assistant, chat_request(), deadline_ms=700)

    outcome = run(scenario())
    assert outcome.error.code == "deadline_exceeded"
    assert outcome.ended_ms == pytest.approx(700)


def test_a_call_carries_whose_it_is_its_label_and_a_key_of_its_own():
    _, tools, outcome = lookup(calls(RATE, LIMIT))
    contexts = [context for _, _, context, _ in tools.made]
    assert {context.tenant for context in contexts} == {"analysts"}
    assert {context.label for context in contexts} == {"C3"}
    assert [context.idempotency_key for context in contexts] == [
        f"{outcome.trace.trace_id}:call-get_rate-0",
        f"{outcome.trace.trace_id}:call-get_limit-1",
    ]


def rounds(number, **changes):
    document = plan_document()
    document["intents"]["lookup"] = intent(
        "lookup", ["get_rate", "get_limit"], max_tool_rounds=number, **changes
    )
    return make_plan(document)


def test_with_more_rounds_the_small_model_is_asked_until_it_makes_no_call():
    engines, tools, outcome = lookup(
        calls(RATE), [*calls(LIMIT)], says("enough"), plan=rounds(5), large=says("Both.")
    )
    assert engines.pools == ["gpu_small"] * 3 + ["gpu_large"]
    assert tools.names == ["get_rate", "get_limit"]
    assert outcome.text == "Both."


def test_when_the_rounds_are_used_up_the_answer_is_written():
    engines, _, _ = lookup(calls(RATE), plan=rounds(1))
    assert engines.pools == ["gpu_small", "gpu_large"]


def test_a_tier_that_picks_and_answers_is_not_asked_twice_for_the_same_text():
    plan = rounds(2, answer={"tier": "small", "max_tokens": 64})
    engines, _, outcome = lookup(calls(RATE), says("1.0850."), plan=plan)
    assert engines.pools == ["gpu_small", "gpu_small"]
    assert outcome.text == "1.0850."


def test_the_messages_of_the_turn_are_kept_for_the_callers_history():
    _, _, outcome = lookup(calls(RATE), tools=FakeTools({"get_rate": "1"}))
    assert [m.document()["role"] for m in outcome.record.added] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert outcome.record.added[-1] == AssistantMessage("Done.")


def test_usage_is_the_sum_of_all_calls():
    _, _, outcome = lookup(calls(RATE, usage=(300, 30, 256)), large=says("x", usage=(350, 8)))
    assert outcome.complete.usage == Usage(prompt=650, completion=38, cached=256)


def test_a_callers_limit_lowers_the_answers_and_never_raises_it():
    engines, _, _ = lookup(calls(RATE), max_tokens=20)
    assert [request.max_tokens for request in engines.requests] == [256, 20]
    engines, _, _ = lookup(calls(RATE), max_tokens=9999)
    assert [request.max_tokens for request in engines.requests] == [256, 128]


def test_reasoning_is_for_picking_tools_and_not_for_putting_results_into_words():
    plan = rounds(1, reasoning=True)
    engines, _, _ = lookup(calls(RATE), plan=plan)
    assert [request.reasoning for request in engines.requests] == [True, False]


def test_an_intent_without_tools_is_answered_by_its_answer_tier_alone():
    engines, _, _ = lookup(intent="explain")
    assert engines.pools == ["gpu_large"]
    assert engines.requests[0].reasoning is True


def test_an_answer_that_was_cut_by_its_limit_says_so():
    _, _, outcome = lookup(calls(RATE), large=says("It was", reason="length"))
    assert outcome.complete.finish_reason == "length"


def test_an_unknown_intent_is_refused_with_the_known_ones():
    _, _, outcome = lookup(intent="trade")
    assert (outcome.error.status, outcome.error.code) == (404, "intent_not_found")
    assert outcome.error.message == (
        "metadata.perimeter.intent: 'trade' is not served here; served are explain, lookup"
    )


def test_a_temperature_of_the_callers_own_is_refused():
    _, _, outcome = lookup(temperature=0.7)
    assert outcome.error.message == (
        "temperature: is 0 for the intent 'lookup' and cannot be changed"
    )


# Labels


def labelled(*, small="C4", large="C4", **tools):
    """A plan whose pools may hold these labels."""
    document = plan_document()
    document["pools"]["gpu_small"]["may_hold"] = small
    document["pools"]["gpu_large"]["may_hold"] = large
    for name, label in tools.items():
        document["tools"][name] = http_tool(name, label=label)
    return make_plan(document)


def test_a_request_without_a_label_is_treated_as_unlabelled_says():
    engines, _, outcome = lookup(says("x"), plan=labelled(small="C3"), label=None)
    assert isinstance(outcome.error, LabelRefused)
    assert engines.made == []
    assert outcome.record.label == "C4"


def test_the_refusal_names_the_label_the_tier_and_what_its_pools_may_hold():
    _, _, outcome = lookup(plan=labelled(small="C2"), label="C3")
    assert (outcome.error.status, outcome.error.code) == (403, "label_refused")
    assert outcome.error.message == (
        "no pool of the tier 'small' may hold data of label C3 (gpu_small up to C2); declare a "
        "lower label with metadata `perimeter.label` if the data allow it, or use the front door "
        "inside the perimeter"
    )


def test_a_caller_cannot_declare_less_than_the_tenants_floor():
    async def scenario():
        engines = ScriptedBackend({"gpu_small": [says("x")]})
        assistant = make_assistant(labelled(small="C2"), engines)
        return await converse(assistant, chat_request(label="C1"), tenant="risk")

    outcome = run(scenario())
    assert isinstance(outcome.error, LabelRefused)
    assert outcome.record.label == "C3"


def test_a_label_that_nobody_knows_is_the_highest():
    _, _, outcome = lookup(plan=labelled(small="C3"), label="public")
    assert outcome.record.label == "C4"
    assert isinstance(outcome.error, LabelRefused)


def test_a_tools_label_raises_the_requests_before_the_answer():
    _, _, outcome = lookup(calls(RATE, LIMIT), label="C1")
    assert outcome.record.label == "C3"


def test_a_result_that_the_answer_tier_may_not_hold_is_not_even_fetched():
    engines, tools, outcome = lookup(calls(LIMIT), plan=labelled(large="C2"), label="C1")
    assert isinstance(outcome.error, LabelRefused)
    assert "no pool of the tier 'large' may hold data of label C3" in outcome.error.message
    assert tools.made == []
    assert engines.pools == ["gpu_small"]


def test_the_same_request_is_answered_when_its_tools_stay_below():
    _, _, outcome = lookup(calls(RATE), plan=labelled(large="C2"), label="C1")
    assert outcome.text == "Done."


def history(name):
    return (
        UserMessage("Before."),
        AssistantMessage("", (ToolCall("old", name, "{}"),)),
        ToolMessage("old", "1"),
        AssistantMessage("It was 1."),
        UserMessage("And now?"),
    )


def test_results_in_the_history_raise_the_label_like_fresh_ones():
    _, _, outcome = lookup(says("x"), request=chat_request(messages=history("get_limit")))
    assert outcome.record.label == "C3"


def test_a_tool_in_the_history_that_the_plan_does_not_know_is_the_highest():
    request = chat_request(messages=history("get_secrets"))
    _, _, outcome = lookup(says("x"), request=request, plan=labelled(small="C3"))
    assert outcome.record.label == "C4"
    assert isinstance(outcome.error, LabelRefused)


def test_the_history_is_sent_on_unchanged():
    engines, _, _ = lookup(says("x"), request=chat_request(messages=history("get_rate")))
    assert engines.requests[0].messages == history("get_rate")


def test_a_tools_argument_reaches_it_as_the_value_the_model_wrote():
    _, tools, _ = lookup(calls(RATE))
    assert tools.made[0][1] == json.loads(RATE[1])
