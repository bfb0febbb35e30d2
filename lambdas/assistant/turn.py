"""One turn of a conversation: what it starts with, and its state as it goes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from lambdas.assistant import semantic_names as names
from lambdas.assistant.admission import ChatRequest
from lambdas.assistant.attempts import ModelCall
from lambdas.assistant.backend import ModelRequest, Usage
from lambdas.assistant.deadline import Deadline
from lambdas.assistant.errors import EngineFailed
from lambdas.assistant.events import AnswerComplete, Record
from lambdas.assistant.messages import AssistantMessage, Message
from lambdas.assistant.plan import Intent, Plan
from lambdas.assistant.routing import AllowedPools
from lambdas.assistant.trace import Step, Trace

PICK = "pick"
WRITE = "write"


@dataclass(frozen=True, slots=True)
class Turn:
    """One admitted request and what belongs to it."""

    request: ChatRequest
    tenant: str
    deadline: Deadline
    trace: Trace
    record: Record


@dataclass(slots=True)
class TurnState:
    """Where a turn stands. `allowed` always fits the label of everything in `messages`."""

    turn: Turn
    plan: Plan
    intent: Intent
    allowed: AllowedPools
    messages: list[Message]
    usage: Usage = field(default_factory=Usage)

    def picking(self) -> ModelCall:
        """The call in which the intent's tier picks tools or answers by itself."""
        intent = self.intent
        request = ModelRequest(
            prefix=intent.prefix,
            messages=tuple(self.messages),
            may_call_tools=True,
            reasoning=intent.reasoning,
            max_tokens=intent.max_tokens,
            temperature=intent.temperature,
        )
        return self._call(request, tier=intent.tier, phase=PICK)

    def writing(self, *, parent: Step) -> ModelCall:
        """The call in which the answer's tier writes the text.

        Putting results into words needs no reasoning; an intent without tools reasons here, if it
        does at all.
        """
        intent = self.intent
        limit = self.turn.request.max_tokens
        most = intent.answer.max_tokens
        request = ModelRequest(
            prefix=intent.prefix,
            messages=tuple(self.messages),
            may_call_tools=False,
            reasoning=intent.reasoning and not intent.tools,
            max_tokens=most if limit is None else min(limit, most),
            temperature=intent.temperature,
        )
        return self._call(request, tier=intent.answer.tier, phase=WRITE, parent=parent)

    def add(self, message: Message) -> None:
        """Append a message of this turn."""
        self.messages.append(message)
        self.turn.record.added.append(message)

    def complete(self, text: str, finish_reason: str) -> AnswerComplete:
        """The end of the turn, with the answer among its messages."""
        self.add(AssistantMessage(content=text))
        return AnswerComplete(finish_reason=finish_reason, usage=self.usage)

    @contextmanager
    def streaming(self, *, parent: Step | None) -> Iterator[None]:
        """Time what is handed to the caller piece by piece; a whole response is not."""
        if not self.turn.request.stream:
            yield
            return
        with self.turn.trace.step(names.STREAM, parent=parent):
            yield

    def _call(
        self, request: ModelRequest, *, tier: str, phase: str, parent: Step | None = None
    ) -> ModelCall:
        return ModelCall(
            request=request,
            pools=self.allowed.of_tier(self.plan, tier),
            phase=phase,
            deadline=self.turn.deadline,
            trace=self.turn.trace,
            parent=parent,
        )


def not_empty(text: str) -> str:
    """The text, or `EngineFailed` for a reply without any."""
    if not text.strip():
        raise EngineFailed("the model gave an empty answer", code="answer_empty")
    return text
