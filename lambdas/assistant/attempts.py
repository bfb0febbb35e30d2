"""Attempts: calls of a model until one replies, inside the pools, the budgets and the deadline.

Every switch is free before the commit point and none happens after it. The commit point is the
first piece of text handed to the caller; a reply that is taken whole (`complete`) commits to
nothing until it is complete. Nobody below retries.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

from opentelemetry.trace import SpanKind

from lambdas.assistant import semantic_names as names
from lambdas.assistant.answer_text import TextCleaner
from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    ModelBackend,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from lambdas.assistant.budgets import timed_events
from lambdas.assistant.deadline import Clock, Deadline
from lambdas.assistant.errors import AssistantError, EngineFailed
from lambdas.assistant.outcomes import refused, unavailable
from lambdas.assistant.plan import Pool
from lambdas.assistant.replicas import Candidate, Replicas
from lambdas.assistant.reply import Reply, ReplyBuilder
from lambdas.assistant.trace import AttributeValue, Step, Trace


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call to be made: to one of `pools`, which all may hold the request's label."""

    request: ModelRequest
    pools: tuple[Pool, ...]
    phase: str
    deadline: Deadline
    trace: Trace
    parent: Step | None = None


class Attempts:
    """Makes calls. One per process: it owns what is known about the replicas."""

    def __init__(self, *, backends: Mapping[str, ModelBackend], clock: Clock) -> None:
        self._backends = backends
        self._clock = clock
        self.replicas = Replicas(clock=clock)

    async def complete(self, call: ModelCall) -> Reply:
        """The whole reply, from the first attempt that gives one.

        Raises `EngineUnavailable`, `EngineFailed`, `DeadlineExceeded`, or what the reply itself is
        refused for.
        """
        tried: list[tuple[Candidate, Failure]] = []
        while True:
            candidate = self._next(call, tried)
            try:
                async with aclosing(self._attempt(candidate, call)) as events:
                    builder = ReplyBuilder()
                    async for event in events:
                        builder.add(event)
                    return builder.build()
            except BackendFailure as failure:
                self._after(failure, candidate, call, tried)

    async def stream(self, call: ModelCall) -> AsyncGenerator[TextDelta | Finished | Usage, None]:
        """The reply as it is written: text, then `Finished`, then `Usage`.

        Raises what `complete` raises, and `EngineFailed` with code `stream_interrupted` when the
        reply breaks off after its first text was handed on.
        """
        tried: list[tuple[Candidate, Failure]] = []
        committed = False
        while True:
            candidate = self._next(call, tried)
            try:
                async with aclosing(self._attempt(candidate, call)) as events:
                    async for event in events:
                        match event:
                            case TextDelta():
                                committed = True
                                yield event
                            case Finished() | Usage():
                                yield event
                    return
            except BackendFailure as failure:
                if committed and failure.failure is not Failure.DEADLINE:
                    raise EngineFailed(
                        f"the answer broke off ({failure.failure.value}); "
                        "what was sent so far is not complete",
                        code="stream_interrupted",
                    ) from None
                self._after(failure, candidate, call, tried)

    def _next(self, call: ModelCall, tried: Sequence[tuple[Candidate, Failure]]) -> Candidate:
        call.deadline.check()
        candidate = self.replicas.choose(call.pools, tried=[c for c, _ in tried])
        if candidate is None:
            raise unavailable(tried)
        return candidate

    def _after(
        self,
        failure: BackendFailure,
        candidate: Candidate,
        call: ModelCall,
        tried: list[tuple[Candidate, Failure]],
    ) -> None:
        tried.append((candidate, failure.failure))
        if failure.failure is Failure.DEADLINE:
            raise call.deadline.exceeded() from None
        if not failure.elsewhere:
            raise refused(failure.failure, candidate) from None

    async def _attempt(
        self, candidate: Candidate, call: ModelCall
    ) -> AsyncGenerator[ModelEvent, None]:
        """The cleaned events of one attempt. Raises `BackendFailure`."""
        pool, request = candidate.pool, call.request
        attributes: dict[str, AttributeValue] = {
            names.OPERATION: names.OPERATION_CHAT,
            names.PROVIDER: type(pool).__name__.removesuffix("Pool").lower(),
            names.REQUEST_MODEL: pool.model,
            names.REQUEST_MAX_TOKENS: request.max_tokens,
            names.POOL: pool.name,
            names.REPLICA: candidate.replica.name,
            names.PHASE: call.phase,
            names.REASONING: request.reasoning,
        }
        with (
            call.trace.step(
                names.ATTEMPT,
                parent=call.parent,
                span_name=f"{names.OPERATION_CHAT} {pool.model}",
                kind=SpanKind.CLIENT,
                attributes=attributes,
            ) as step,
            self._counted(candidate, step),
        ):
            events = timed_events(
                self._backends[pool.name],
                request,
                candidate=candidate,
                deadline=call.deadline,
                step=step,
            )
            finished = False
            try:
                async with aclosing(_cleaned(events, request)) as cleaned:
                    async for event in cleaned:
                        match event:
                            case Finished(reason):
                                finished = True
                                step.set(names.FINISH_REASONS, [reason])
                            case Usage():
                                _set_usage(step, event)
                        yield event
            except BackendFailure:
                # Once the model is done, all that can be missing is its count of tokens.
                if not finished:
                    raise
            if not finished:
                raise BackendFailure(Failure.CUT)

    @contextmanager
    def _counted(self, candidate: Candidate, step: Step) -> Iterator[None]:
        """Keep the replica's load and breaker, and the attempt's outcome, whatever ends it."""
        self.replicas.started(candidate)
        success: bool | None = None
        try:
            yield
            success = True
            step.set(names.OUTCOME, "ok")
        except BackendFailure as failure:
            success = False if failure.counts_against_replica else None
            step.set(names.OUTCOME, failure.failure.value)
            raise
        except AssistantError as error:
            # The replica did its part; what it wrote is refused.
            success = True
            step.set(names.OUTCOME, error.code)
            raise
        except BaseException:
            step.set(names.OUTCOME, "cancelled")
            raise
        finally:
            self.replicas.ended(candidate, success=success)


def _set_usage(step: Step, usage: Usage) -> None:
    step.set(names.INPUT_TOKENS, usage.prompt)
    step.set(names.OUTPUT_TOKENS, usage.completion)
    step.set(names.CACHED_TOKENS, usage.cached)


async def _cleaned(
    events: AsyncGenerator[ModelEvent, None], request: ModelRequest
) -> AsyncGenerator[ModelEvent, None]:
    """The events with their text cleaned and their reasoning taken out."""
    cleaner = TextCleaner(reasoning=request.reasoning)
    async with aclosing(events):
        async for event in events:
            match event:
                case TextDelta(text):
                    if clean := cleaner.text(text):
                        yield TextDelta(clean)
                case ReasoningDelta(text):
                    cleaner.reasoning(text)
                case ToolCallDelta() if not request.may_call_tools:
                    # An engine that makes a call where none is allowed has not understood.
                    raise BackendFailure(Failure.PROTOCOL)
                case Finished():
                    if rest := cleaner.rest():
                        yield TextDelta(rest)
                    yield event
                case _:
                    yield event
