"""A model's whole reply, put together from its events."""

from dataclasses import dataclass, field

from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    ModelEvent,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from lambdas.assistant.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call of a model gave."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyBuilder:
    """Adds up the events of one attempt."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, _PartialCall] = {}
        self._finish_reason = "stop"
        self._usage = Usage()

    def add(self, event: ModelEvent) -> None:
        """Take the next event."""
        match event:
            case TextDelta(text):
                self._text.append(text)
            case ToolCallDelta(index, call_id, name, arguments):
                call = self._calls.setdefault(index, _PartialCall())
                call.id = call.id or call_id
                call.name += name
                call.arguments.append(arguments)
            case Finished(reason):
                self._finish_reason = reason
            case Usage():
                self._usage = event

    def build(self) -> Reply:
        """The reply. Raises `BackendFailure` when two calls share an id, or one has none."""
        text = "".join(self._text)
        calls = tuple(
            ToolCall(id=call.id, name=call.name, arguments="".join(call.arguments))
            for call in self._calls.values()
        )
        ids = {call.id for call in calls}
        if len(ids) != len(calls) or "" in ids:
            raise BackendFailure(Failure.PROTOCOL)
        return Reply(
            text=text, tool_calls=calls, finish_reason=self._finish_reason, usage=self._usage
        )
