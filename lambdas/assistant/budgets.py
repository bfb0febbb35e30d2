"""The waiting of one attempt: to its first token, then from token to token, within the deadline."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from lambdas.assistant import semantic_names as names
from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    ModelBackend,
    ModelEvent,
    ModelRequest,
    Target,
)
from lambdas.assistant.deadline import Deadline
from lambdas.assistant.replicas import Candidate
from lambdas.assistant.trace import Step


async def timed_events(
    backend: ModelBackend,
    request: ModelRequest,
    *,
    candidate: Candidate,
    deadline: Deadline,
    step: Step,
) -> AsyncGenerator[ModelEvent, None]:
    """The backend's events, each awaited no longer than its budget and the deadline allow.

    The first-token budget includes connecting. Raises `BackendFailure`, also for what took too
    long.
    """
    budgets, clock = candidate.pool.budgets, deadline.clock
    target = Target(
        pool=candidate.pool,
        replica=candidate.replica,
        connect_seconds=deadline.within(budgets.connect_ms),
        trace_headers=step.headers(),
    )
    began_ns = clock.monotonic_ns()
    budget_ms, timeout = budgets.first_token_ms, Failure.FIRST_TOKEN_TIMEOUT
    async with aclosing(backend.stream(request, target)) as events:
        while True:
            limit = deadline.within(budget_ms)
            last = limit < budget_ms / 1000
            try:
                async with asyncio.timeout(limit):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise BackendFailure(Failure.DEADLINE if last else timeout) from None
            if timeout is Failure.FIRST_TOKEN_TIMEOUT:
                step.set(names.FIRST_CHUNK_SECONDS, (clock.monotonic_ns() - began_ns) / 1e9)
                budget_ms, timeout = budgets.gap_ms, Failure.GAP_TIMEOUT
            yield event
