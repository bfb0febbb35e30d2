"""What the assistant asks of a model, and what comes back: the seam every engine implements."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lambdas.assistant.messages import Message
from lambdas.assistant.plan import Pool, Replica
from lambdas.assistant.prompt import PromptPrefix


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. Everything a backend may not decide for itself is explicit.

    `may_call_tools` False keeps the tool definitions in the prompt (the prefix stays the same) and
    forbids calls.
    """

    prefix: PromptPrefix
    messages: tuple[Message, ...]
    may_call_tools: bool
    reasoning: bool
    max_tokens: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Target:
    """The one replica that a call goes to, and what the call carries with it."""

    pool: Pool
    replica: Replica
    connect_seconds: float
    trace_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning. It never reaches a caller or another model."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a tool call. `index` says which call; id and name come with its first piece."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The model is done. `reason` is `stop`, `length` or `tool_calls`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, or of several added up. `cached` is None when the engine does not say."""

    prompt: int = 0
    completion: int = 0
    cached: int | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both."""
        cached = [count for count in (self.cached, other.cached) if count is not None]
        return Usage(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=sum(cached) if cached else None,
        )


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | Finished | Usage


class Failure(StrEnum):
    """How an attempt failed. The value is what spans and breakdowns show."""

    CONNECTION = "connection"
    CONNECT_TIMEOUT = "connect_timeout"
    FIRST_TOKEN_TIMEOUT = "first_token_timeout"
    GAP_TIMEOUT = "gap_timeout"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CUT = "cut"
    PROTOCOL = "protocol"
    REFUSED = "refused"
    CONTEXT_LENGTH = "context_length"
    DEADLINE = "deadline"


class BackendFailure(Exception):
    """An attempt that gave no complete reply. It carries no content, only the kind of failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure

    @property
    def elsewhere(self) -> bool:
        """Whether another replica may do better. What an engine refuses, its twin refuses too."""
        return self.failure not in (Failure.REFUSED, Failure.CONTEXT_LENGTH, Failure.DEADLINE)

    @property
    def counts_against_replica(self) -> bool:
        """Whether the breaker counts it. A full queue is a working engine that says no at once."""
        return self.elsewhere and self.failure is not Failure.OVERLOADED


class ModelBackend(Protocol):
    """Calls one kind of engine."""

    def stream(self, request: ModelRequest, target: Target) -> AsyncGenerator[ModelEvent, None]:
        """The reply, piece by piece, ending after `Finished` (and `Usage`, when the engine tells).

        Raises `BackendFailure` and nothing else. Closing the generator ends the call at the engine.
        Time limits other than `connect_seconds` are the caller's.
        """
        ...
