import json

import pytest

from lambdas.assistant.admission import admit
from lambdas.assistant.errors import AssistantError, NotFound, RequestInvalid
from lambdas.assistant.messages import UserMessage

MESSAGES = [{"role": "user", "content": "Hello."}]


def admitted(**changes):
    body = {"model": "demo", "messages": MESSAGES} | changes
    return admit(json.dumps(body).encode(), model="demo", max_deadline_ms=60_000)


def refusal(**changes):
    with pytest.raises(AssistantError) as refused:
        admitted(**changes)
    return refused.value


def test_the_least_request_leaves_every_choice_to_the_deployment():
    request = admitted()
    assert request.messages == (UserMessage("Hello."),)
    assert (request.stream, request.include_usage, request.trace) == (False, False, False)
    assert (request.label, request.intent, request.deadline_ms) == (None, None, None)
    assert (request.max_tokens, request.temperature) == (None, None)


def test_everything_that_is_taken_is_read():
    request = admitted(
        stream=True,
        stream_options={"include_usage": True},
        max_completion_tokens=50,
        temperature=0,
        n=1,
        store=False,
        metadata={
            "perimeter.label": "C2",
            "perimeter.intent": "lookup",
            "perimeter.deadline_ms": "1500",
            "perimeter.trace": "steps",
            "ticket": "4711",
        },
    )
    assert (request.stream, request.include_usage, request.trace) == (True, True, True)
    assert (request.label, request.intent, request.deadline_ms) == ("C2", "lookup", 1500)
    assert (request.max_tokens, request.temperature) == (50, 0)


def test_a_parameter_that_is_null_was_not_given():
    assert admitted(tools=None, stop=None, max_tokens=None, metadata=None) == admitted()


@pytest.mark.parametrize(
    "name",
    [
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "functions",
        "response_format",
        "stop",
        "seed",
        "top_p",
        "logit_bias",
        "logprobs",
        "user",
        "service_tier",
        "chat_template_kwargs",
        "whatever",
    ],
)
def test_a_parameter_that_is_not_taken_is_refused_by_name(name):
    error = refusal(**{name: "x"})
    assert isinstance(error, RequestInvalid)
    assert (error.code, error.param, error.status) == ("unsupported_parameter", name, 400)
    assert error.message.startswith(f"{name}: is not taken: ")


def test_the_refusal_of_tools_says_who_decides():
    assert refusal(tools=[]).message == (
        "tools: is not taken: the intent decides which tools the model may call"
    )


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"n": 2}, "n"),
        ({"n": True}, "n"),
        ({"store": True}, "store"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": {"x": 1}}, "stream_options.x"),
        ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"metadata": {"ticket": 4711}}, "metadata.ticket"),
        ({"metadata": {"perimeter.lable": "C1"}}, "metadata.perimeter.lable"),
        ({"metadata": {"perimeter.trace": "all"}}, "metadata.perimeter.trace"),
        ({"model": 5}, "model"),
    ],
)
def test_a_wrong_value_is_refused_with_the_name_of_its_parameter(changes, param):
    error = refusal(**changes)
    assert error.param == param
    assert error.message.startswith(f"{param}: ")


@pytest.mark.parametrize("text", ["0", "-5", "1.5", "60001", "soon", "", "\u0661", "9" * 30])
def test_a_deadline_out_of_range_is_refused_with_the_range(text):
    error = refusal(metadata={"perimeter.deadline_ms": text})
    assert error.message == (
        "metadata.perimeter.deadline_ms: must be a whole number of milliseconds from 1 to 60000"
    )


def test_another_model_does_not_exist():
    error = refusal(model="gpt-4")
    assert isinstance(error, NotFound)
    assert (error.status, error.code, error.param) == (404, "model_not_found", "model")
    assert "this deployment answers to 'demo'" in error.message


@pytest.mark.parametrize("body", [b"[]", b"", b'"x"', b'{"model": "demo", "model": "demo"}'])
def test_a_body_that_is_not_one_json_object_is_refused(body):
    with pytest.raises(RequestInvalid) as refused:
        admit(body, model="demo", max_deadline_ms=1)
    assert refused.value.code == "invalid_json"
