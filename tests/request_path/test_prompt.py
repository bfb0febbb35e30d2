import json

from lambdas.assistant.backend import ModelRequest
from lambdas.assistant.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from lambdas.backends.chat_body import chat_body
from tests.request_path.plans import SYSTEM, make_plan

PREFIX = make_plan().intents["lookup"].prefix


def body(messages, **changes):
    values = {
        "prefix": PREFIX,
        "messages": tuple(messages),
        "may_call_tools": True,
        "reasoning": False,
        "max_tokens": 256,
        "temperature": 0,
    }
    return chat_body(ModelRequest(**(values | changes)), model="analyst-small")


def test_every_choice_an_engine_could_default_is_explicit():
    document = json.loads(body([UserMessage("Hello.")]))
    assert document["messages"] == [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Hello."},
    ]
    assert document["tool_choice"] == "auto"
    assert document["parallel_tool_calls"] is True
    assert document["chat_template_kwargs"] == {"enable_thinking": False}
    assert (document["temperature"], document["seed"], document["n"]) == (0, 0, 1)
    assert document["stream_options"] == {"include_usage": True}
    assert all(tool["function"]["strict"] for tool in document["tools"])


def test_two_questions_share_every_byte_up_to_the_question():
    one, two = body([UserMessage("Aaa")]), body([UserMessage("Bbb")])
    shared = len(b'{"messages":[' + PREFIX.system_json.encode() + b',{"role":"user","content":"')
    assert one[:shared] == two[:shared]
    assert shared + 3 == one.index(b"Aaa") + 3


def test_a_follow_up_begins_with_every_byte_of_the_turn_before_it():
    turn = [
        UserMessage("What is EUR/USD?"),
        AssistantMessage("", (ToolCall("c1", "get_rate", '{"currency_pair": "EUR/USD"}'),)),
        ToolMessage("c1", '{"rate": 1.0850}'),
    ]
    later = [*turn, AssistantMessage("1.0850."), UserMessage("And GBP?")]
    kept = body(turn).split(b"],", 1)[0]
    conversation = body(turn)[: body(turn).index(b'],"tools"')]
    assert body(later).startswith(conversation)
    assert kept


def test_forbidding_calls_keeps_the_tools_in_the_prompt():
    allowed = json.loads(body([UserMessage("x")]))
    forbidden = json.loads(body([UserMessage("x")], may_call_tools=False))
    assert forbidden["tool_choice"] == "none"
    assert forbidden["tools"] == allowed["tools"]


def test_an_intent_without_tools_sends_no_word_about_them():
    prefix = make_plan().intents["explain"].prefix
    document = json.loads(body([UserMessage("x")], prefix=prefix, reasoning=True))
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & document.keys()
    assert document["chat_template_kwargs"] == {"enable_thinking": True}


def test_text_is_sent_as_it_is_and_not_escaped():
    assert "für 5 €".encode() in body([UserMessage("für 5 €")])
