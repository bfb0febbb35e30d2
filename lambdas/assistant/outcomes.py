"""What a caller is told when no attempt gave a reply."""

from collections.abc import Sequence

from lambdas.assistant.backend import Failure
from lambdas.assistant.errors import (
    AssistantError,
    EngineFailed,
    EngineUnavailable,
    RequestInvalid,
)
from lambdas.assistant.replicas import Candidate


def unavailable(tried: Sequence[tuple[Candidate, Failure]]) -> EngineUnavailable:
    """The error when every candidate was tried, with how each of them failed."""
    busy = all(failure is Failure.OVERLOADED for _, failure in tried)
    listed = ", ".join(f"{'/'.join(candidate.key)}: {failure}" for candidate, failure in tried)
    return EngineUnavailable(
        f"no engine gave a reply ({listed}); the request can be sent again",
        code="engines_busy" if busy else "engines_unavailable",
    )


def refused(failure: Failure, candidate: Candidate) -> AssistantError:
    """The error when an engine says no to the call itself."""
    if failure is Failure.CONTEXT_LENGTH:
        return RequestInvalid(
            f"the conversation is longer than the model {candidate.pool.model!r} can read; "
            "leave out earlier turns",
            code="context_length_exceeded",
            param="messages",
        )
    return EngineFailed(
        f"the engine {'/'.join(candidate.key)} refused the call; "
        "its model name, key and limits must fit the request plan",
        code="engine_refused",
    )
