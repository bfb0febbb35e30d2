"""The turns of a conversation, as values that always serialise to the same bytes.

The engine keeps the work it did for earlier turns only while their text does not change, so a
message has exactly one form: fixed key order, no absent or null key, and content passed on as it
came.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lambdas.assistant.prompt import compact_json


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model made. `arguments` is its JSON text, unread."""

    id: str
    name: str
    arguments: str

    def document(self) -> dict[str, object]:
        """The OpenAI form."""
        function = {"name": self.name, "arguments": self.arguments}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person asked."""

    content: str

    def document(self) -> dict[str, object]:
        """The OpenAI form."""
        return {"role": "user", "content": self.content}


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model wrote, with the calls it made if any."""

    content: str
    tool_calls: tuple[ToolCall, ...] = ()

    def document(self) -> dict[str, object]:
        """The OpenAI form; text is "" beside calls, never null."""
        document: dict[str, object] = {"role": "assistant", "content": self.content}
        if self.tool_calls:
            document["tool_calls"] = [call.document() for call in self.tool_calls]
        return document


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What a tool returned for one call."""

    tool_call_id: str
    content: str

    def document(self) -> dict[str, object]:
        """The OpenAI form."""
        return {"role": "tool", "tool_call_id": self.tool_call_id, "content": self.content}


Message = UserMessage | AssistantMessage | ToolMessage


def messages_json(messages: Iterable[Message]) -> str:
    """The messages as the inside of a JSON array, each preceded by a comma."""
    return "".join("," + compact_json(message.document()) for message in messages)
