"""What a conversation hands to the shell, and what it leaves behind for a breakdown."""

from dataclasses import dataclass, field

from lambdas.assistant.backend import Usage
from lambdas.assistant.messages import Message
from lambdas.assistant.toolbox import ToolRun


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A piece of the answer. Once the first one is taken, the answer comes from one model alone."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerComplete:
    """The answer is complete.

    `finish_reason` is `stop` or `length`; `usage` is the sum of all calls.
    """

    finish_reason: str
    usage: Usage


AnswerEvent = AnswerText | AnswerComplete


@dataclass(slots=True)
class Record:
    """What is known of a request so far; filled as it goes, so that a failed request has one too.

    `added` are the messages of this turn. Sent back before the next question, they are the history.
    """

    label: str | None = None
    intent: str | None = None
    tool_runs: list[ToolRun] = field(default_factory=list)
    added: list[Message] = field(default_factory=list)
