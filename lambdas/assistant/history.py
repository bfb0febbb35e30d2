"""Reads the `messages` of a request: earlier turns as this API returned them, then a question.

Three roles are taken from a caller: user, assistant and tool. The system text belongs to the
deployment: a caller who could set it would change what the models were evaluated on, and would
break the prefix that the engine has already computed.
"""

from collections.abc import Mapping

from lambdas.assistant.errors import RequestInvalid
from lambdas.assistant.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)

MAX_MESSAGES = 512


def read_messages(value: object) -> tuple[Message, ...]:
    """The conversation, checked turn by turn.

    Every tool message answers a call of the assistant message before it, every call is answered
    once, and the last message is the user's. Raises `RequestInvalid` that names the message.
    """
    if not isinstance(value, list) or not value:
        raise RequestInvalid("must be a list of at least one message", param="messages")
    if len(value) > MAX_MESSAGES:
        raise RequestInvalid(f"holds more than {MAX_MESSAGES} messages", param="messages")
    messages = tuple(_message(item, path=f"messages[{i}]") for i, item in enumerate(value))
    _check_turns(messages)
    return messages


def tools_called(messages: tuple[Message, ...]) -> tuple[str, ...]:
    """Names of the tools whose results the conversation holds, as the history claims them."""
    return tuple(
        call.name
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )


def _message(value: object, *, path: str) -> Message:
    if not isinstance(value, dict):
        raise RequestInvalid("must be an object", param=path)
    role = value.get("role")
    match role:
        case "user":
            _only(value, {"role", "content"}, path=path)
            return UserMessage(_content(value.get("content"), path=f"{path}.content"))
        case "assistant":
            _only(value, {"role", "content", "tool_calls"}, path=path)
            return _assistant(value, path=path)
        case "tool":
            _only(value, {"role", "content", "tool_call_id"}, path=path)
            call_id = _text(value.get("tool_call_id"), path=f"{path}.tool_call_id")
            return ToolMessage(call_id, _content(value.get("content"), path=f"{path}.content"))
        case "system" | "developer":
            raise RequestInvalid(
                "the system text is part of the deployment and cannot be set by a caller; "
                "put what the model must know into a user message",
                code="system_message_refused",
                param=f"{path}.role",
            )
        case _:
            raise RequestInvalid("must be user, assistant or tool", param=f"{path}.role")


def _assistant(value: Mapping[str, object], *, path: str) -> AssistantMessage:
    calls = value.get("tool_calls")
    if calls is None or calls == []:
        return AssistantMessage(_content(value.get("content"), path=f"{path}.content"))
    if not isinstance(calls, list):
        raise RequestInvalid("must be a list", param=f"{path}.tool_calls")
    content = value.get("content")
    return AssistantMessage(
        content="" if content is None else _content(content, path=f"{path}.content"),
        tool_calls=tuple(
            _call(call, path=f"{path}.tool_calls[{i}]") for i, call in enumerate(calls)
        ),
    )


def _call(value: object, *, path: str) -> ToolCall:
    if not isinstance(value, dict):
        raise RequestInvalid("must be an object", param=path)
    _only(value, {"id", "type", "function"}, path=path)
    function = value.get("function")
    if value.get("type") != "function" or not isinstance(function, dict):
        raise RequestInvalid('must be {"id", "type": "function", "function"}', param=path)
    _only(function, {"name", "arguments"}, path=f"{path}.function")
    return ToolCall(
        id=_text(value.get("id"), path=f"{path}.id"),
        name=_text(function.get("name"), path=f"{path}.function.name"),
        arguments=_text(function.get("arguments"), path=f"{path}.function.arguments"),
    )


def _content(value: object, *, path: str) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise RequestInvalid("must be a text or a list of text parts", param=path)
    texts: list[str] = []
    for index, part in enumerate(value):
        if not isinstance(part, dict) or part.get("type") != "text":
            raise RequestInvalid(
                'must be {"type": "text", "text"}: only text is taken', param=f"{path}[{index}]"
            )
        _only(part, {"type", "text"}, path=f"{path}[{index}]")
        texts.append(_text(part.get("text"), path=f"{path}[{index}].text"))
    return "\n".join(texts)


def _text(value: object, *, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise RequestInvalid("must be a text that is not empty", param=path)
    return value


def _only(value: Mapping[str, object], known: set[str], *, path: str) -> None:
    # Clients send back whole message objects, in which what was not set is null.
    for key, item in value.items():
        if key not in known and item is not None and item != []:
            raise RequestInvalid("is not taken here", param=f"{path}.{key}")


def _check_turns(messages: tuple[Message, ...]) -> None:
    open_calls: set[str] = set()
    seen: set[str] = set()
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                raise RequestInvalid(
                    "answers no open call of the assistant message before it",
                    param=f"{path}.tool_call_id",
                )
            open_calls.discard(message.tool_call_id)
            continue
        if open_calls:
            raise RequestInvalid(
                "comes before every tool call of the assistant message has its tool message",
                param=path,
            )
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.tool_calls]
            if len(set(ids)) != len(ids) or seen.intersection(ids):
                raise RequestInvalid("two calls have the same id", param=f"{path}.tool_calls")
            open_calls, seen = set(ids), seen.union(ids)
    if not isinstance(messages[-1], UserMessage):
        raise RequestInvalid("the last message must be the user's", param="messages")
