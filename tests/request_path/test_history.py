import pytest

from lambdas.assistant.errors import RequestInvalid
from lambdas.assistant.history import read_messages, tools_called
from lambdas.assistant.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

CALL = {"id": "c1", "type": "function", "function": {"name": "get_rate", "arguments": '{"a":1}'}}
USER = {"role": "user", "content": "And yesterday?"}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": '{"rate": 1.08}'}
ANSWERED = {"role": "assistant", "content": "It was 1.08."}


def refusal(messages):
    with pytest.raises(RequestInvalid) as refused:
        read_messages(messages)
    return refused.value


def test_a_turn_as_this_api_returned_it_is_read_back():
    assert read_messages([USER, ASKED, TOLD, ANSWERED, USER]) == (
        UserMessage("And yesterday?"),
        AssistantMessage("", (ToolCall("c1", "get_rate", '{"a":1}'),)),
        ToolMessage("c1", '{"rate": 1.08}'),
        AssistantMessage("It was 1.08."),
        UserMessage("And yesterday?"),
    )


def test_what_was_read_serialises_to_the_same_messages_again():
    turns = [USER, ASKED, TOLD, ANSWERED, USER]
    assert [message.document() for message in read_messages(turns)] == turns


def test_null_and_empty_extras_of_client_objects_are_let_through():
    extras: dict[str, object] = {
        "refusal": None,
        "annotations": [],
        "audio": None,
        "function_call": None,
    }
    assert read_messages([ANSWERED | extras | {"tool_calls": None}, USER])[0] == AssistantMessage(
        "It was 1.08."
    )


def test_text_parts_are_joined_and_other_parts_are_refused():
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert read_messages([{"role": "user", "content": parts}]) == (UserMessage("one\ntwo"),)
    image = [{"type": "image_url", "image_url": {"url": "x"}}]
    assert refusal([{"role": "user", "content": image}]).param == "messages[0].content[0]"


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_is_refused_and_the_error_says_what_to_do(role):
    error = refusal([{"role": role, "content": "Be brief."}, USER])
    assert error.code == "system_message_refused"
    assert error.message == (
        "messages[0].role: the system text is part of the deployment and cannot be set by a "
        "caller; put what the model must know into a user message"
    )


@pytest.mark.parametrize(
    ("messages", "param", "rule"),
    [
        ([], "messages", "must be a list of at least one message"),
        ("hello", "messages", "must be a list of at least one message"),
        ([USER] * 513, "messages", "holds more than 512 messages"),
        (["hello"], "messages[0]", "must be an object"),
        ([{"role": "wizard"}], "messages[0].role", "must be user, assistant or tool"),
        ([{"role": "user"}], "messages[0].content", "must be a text or a list of text parts"),
        ([USER | {"name": "Ann"}], "messages[0].name", "is not taken here"),
        ([USER, ANSWERED], "messages", "the last message must be the user's"),
        ([TOLD, USER], "messages[0].tool_call_id", "answers no open call"),
        ([ASKED, TOLD, TOLD, USER], "messages[2].tool_call_id", "answers no open call"),
        ([ASKED, USER], "messages[1]", "comes before every tool call"),
        ([ASKED, TOLD, ASKED, TOLD, USER], "messages[2].tool_calls", "two calls have the same id"),
        ([ASKED | {"tool_calls": [CALL, CALL]}], "messages[0].tool_calls", "the same id"),
        (
            [ASKED | {"tool_calls": [CALL | {"id": ""}]}],
            "messages[0].tool_calls[0].id",
            "not empty",
        ),
        ([ASKED | {"tool_calls": [{"id": "x"}]}], "messages[0].tool_calls[0]", "must be {"),
    ],
)
def test_a_malformed_conversation_is_refused_where_it_is_wrong(messages, param, rule):
    error = refusal(messages)
    assert error.param == param
    assert rule in error.message
    assert error.message.startswith(f"{param}: ")


def test_the_tools_of_the_history_are_known_by_their_calls():
    assert tools_called(read_messages([USER, ASKED, TOLD, ANSWERED, USER])) == ("get_rate",)
