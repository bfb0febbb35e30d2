"""Properties that hold whatever the labels, the plan, the failures and the model's choices are."""

import itertools
import json
from dataclasses import dataclass

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from lambdas.assistant.backend import (
    Failure,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from lambdas.assistant.errors import AssistantError
from lambdas.assistant.history import tools_called
from lambdas.assistant.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from lambdas.assistant.tools import ToolFailure
from tests.request_path.fakes import (
    FakeTools,
    ScriptedBackend,
    Sleep,
    chat_request,
    converse,
    make_assistant,
)
from tests.request_path.plans import http_tool, intent, make_plan, plan_document, vllm_pool
from tests.request_path.virtual_time import run

LABELS = ("C1", "C2", "C3", "C4")
POOLS = ("one", "two", "three", "four")
OFFERED = ("get_rate", "get_limit")
GOOD = {
    "get_rate": '{"currency_pair": "EUR/USD", "date": "2026-01-05"}',
    "get_limit": '{"counterparty": "Nordbank", "product": "swap"}',
}

FAILURES = [failure for failure in Failure if failure is not Failure.DEADLINE]
TEXT, HM, END = TextDelta("?"), ReasoningDelta("hm"), [Finished("stop"), Usage(1, 1)]


def called(*named):
    """A reply of these calls, each a name and its arguments."""
    deltas = [ToolCallDelta(n, f"call{n}", *pair) for n, pair in enumerate(named)]
    return [*deltas, Finished("tool_calls"), Usage(1, 1)]


# What a pool does on one call. Most go well: a turn has to get somewhere before it can go wrong.
SCRIPTS = [
    *[called(pair) for pair in GOOD.items()] * 3,
    called(*GOOD.items()),
    called(("get_rate", "{}"), ("get_limit", GOOD["get_limit"])),
    called(("get_rate", '{"currency_pair": ')),
    called(("book_note", "{}")),
    called(*GOOD.items(), ("get_news", "{}")),
    *[[TEXT, TEXT, *END]] * 4,
    [Sleep(0.4), HM, Sleep(1.5), TEXT, Sleep(1.9), TEXT, *END],
    [HM, TextDelta("\n"), TEXT, *END],
    [HM, *END],
    END,
    [TEXT],
    [TextDelta("<tool_"), TextDelta("call>{}"), *END],
    [Sleep(6), TEXT, *END],
    [TEXT, Sleep(3), TEXT, *END],
    [HM, Sleep(3), TEXT, *END],
    *[[failure] for failure in FAILURES],
    *[[HM, TEXT, failure] for failure in FAILURES],
]
TOOL_ANSWERS = ["1", "2", '{"a": 1}', "oops", [Sleep(1.5), "3"], [Sleep(4), "4"], *ToolFailure]

label = st.sampled_from(LABELS)
holds = st.sampled_from(["C4", "C4", "C3", "C3", "C2", "C1"])
low = st.sampled_from(["C1", "C1", "C1", "C2", "C3", "C4"])
script = st.sampled_from(SCRIPTS)
tool_name = st.sampled_from([*OFFERED, "book_note", "get_news"])
tier = st.sampled_from(
    [list(names) for size in (1, 2, 3) for names in itertools.permutations(POOLS, size)]
)


@st.composite
def plan_documents(draw):
    """Any plan of two tiers over four pools, any labels, one to three rounds of tools."""
    document = plan_document()
    document["pools"] = {
        name: vllm_pool(name, may_hold=draw(holds), replicas=draw(st.integers(1, 3)))
        for name in POOLS
    }
    document["tiers"] = {"small": draw(tier), "large": draw(tier)}
    document["labels"]["unlabelled"] = draw(label)
    document["tenants"] = {"analysts": {"floor": draw(low)}}
    tools = (*OFFERED, "book_note")
    document["tools"] = {name: http_tool(name, label=draw(low)) for name in tools}
    document["intents"]["lookup"] = intent(
        "lookup",
        OFFERED,
        max_tool_rounds=draw(st.integers(1, 3)),
        answer={"tier": draw(st.sampled_from(["small", "large"])), "max_tokens": 64},
    )
    return document


@dataclass
class Marking(ScriptedBackend):
    """Marks each piece of text with the number of the call that it belongs to."""

    async def stream(self, request, target):
        number = len(self.made)
        inner = super().stream(request, target)
        try:
            async for item in inner:
                match item:
                    case TextDelta("?"):
                        yield TextDelta(f"[{number}]")
                    case ReasoningDelta():
                        yield ReasoningDelta(f"[{number}]")
                    case _:
                        yield item
        finally:
            await inner.aclose()


@st.composite
def histories(draw):
    """No earlier turn, or one whose tool is any tool, known to the plan or not."""
    name = draw(st.none() | tool_name)
    if name is None:
        return (UserMessage("Now?"),)
    called = AssistantMessage("", (ToolCall("old", name, "{}"),))
    return UserMessage("Then?"), called, ToolMessage("old", "1"), UserMessage("Now?")


@st.composite
def scenarios(draw):
    document = draw(plan_documents())
    backend = Marking({name: draw(st.lists(script, min_size=1, max_size=3)) for name in POOLS})
    tools = FakeTools({name: draw(st.sampled_from(TOOL_ANSWERS)) for name in document["tools"]})
    request = chat_request(
        messages=draw(histories()),
        stream=draw(st.booleans()),
        label=draw(st.sampled_from([None, "C1", "C1", "C1", "C2", "C3", "C4", "unheard-of"])),
        intent=draw(st.sampled_from(["lookup", "lookup", "explain"])),
    )
    return (
        make_plan(document),
        backend,
        tools,
        request,
        draw(st.sampled_from([1, 700, 3_000, 20_000, 20_000, 60_000])),
    )


def label_of(plan, request, messages):
    """The label as the rules say it, worked out from what a model call was given."""
    labels = [request.label if request.label is not None else plan.unlabelled]
    labels.append(plan.floors["analysts"])
    labels += [plan.tools[n].label if n in plan.tools else "C4" for n in tools_called(messages)]
    return max(item if item in LABELS else "C4" for item in labels)


def check_model_calls(plan, request, backend):
    served = plan.intents[request.intent]
    for pool, _, call in backend.made:
        needed = label_of(plan, request, call.messages)
        assert plan.pools[pool].may_hold >= needed, f"{pool} was sent data of {needed}"
        tier = served.tier if call.may_call_tools else served.answer.tier
        assert pool in plan.tiers[tier]


def check_tool_calls(plan, request, tools):
    for name, arguments, context, _ in tools.made:
        assert name in plan.intents[request.intent].tools
        assert arguments == json.loads(GOOD[name])
        assert context.label >= plan.tools[name].label


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(scenarios())
def test_no_call_leaves_the_allowed_pools_no_switch_follows_a_commit_and_no_deadline_is_passed(
    scenario,
):
    plan, backend, tools, request, deadline_ms = scenario
    assistant = make_assistant(plan, backend, tools)
    outcome = run(converse(assistant, request, deadline_ms=deadline_ms))

    check_model_calls(plan, request, backend)
    check_tool_calls(plan, request, tools)
    numbers = {part for piece in outcome.pieces for part in piece.replace("]", "[").split("[")}
    assert len({part for part in numbers if part.isdigit()}) <= 1, "two models wrote one answer"
    if outcome.pieces:
        assert f"[{len(backend.made) - 1}]" in outcome.text, "a call was made after the commit"
    assert outcome.ended_ms <= deadline_ms + 0.001
    assert sorted(backend.ended) == sorted((pool, replica) for pool, replica, _ in backend.made)
    assert (outcome.complete is None) == (outcome.error is not None)
    assert outcome.error is None or isinstance(outcome.error, AssistantError)
    assert all(step.end_ns is not None for step in outcome.trace.steps)
    event(outcome.error.code if outcome.error else "answered")
