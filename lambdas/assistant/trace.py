"""Where the time of a request goes: one record per step, mirrored as an OpenTelemetry span.

The records exist whether or not anything listens to spans, since a caller may ask for them. No
method takes content: attributes are names from the plan, numbers and fixed words.
"""

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from lambdas.assistant import semantic_names as names
from lambdas.assistant.backend import BackendFailure
from lambdas.assistant.deadline import Clock
from lambdas.assistant.errors import AssistantError

AttributeValue = str | int | float | bool | Sequence[str]
_PROPAGATOR = TraceContextTextMapPropagator()


@dataclass(slots=True)
class Step:
    """One timed part of a request. `end_ns` is None while it runs."""

    name: str
    parent: str | None
    start_ns: int
    span: Span
    end_ns: int | None = None
    attributes: dict[str, AttributeValue] = field(default_factory=dict)

    def set(self, name: str, value: AttributeValue | None) -> None:
        """Record one attribute; None is not recorded."""
        if value is not None:
            self.attributes[name] = value
            self.span.set_attribute(name, value)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers that make a callee's spans children of this one; none without tracing."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, context=set_span_in_context(self.span, Context()))
        return tuple(carrier.items())


class Trace:
    """The steps of one request, under one root span."""

    def __init__(
        self,
        *,
        clock: Clock,
        tracer: Tracer,
        root_name: str,
        traceparent: str | None,
        start_ns: int,
    ) -> None:
        self._clock = clock
        self._tracer = tracer
        # Spans want wall time; steps are measured on the monotonic clock and shifted by one offset.
        self._offset_ns = clock.unix_ns() - clock.monotonic_ns()
        self.start_ns = start_ns
        self.steps: list[Step] = []
        carrier = {"traceparent": traceparent} if traceparent else {}
        self._root = tracer.start_span(
            root_name,
            context=_PROPAGATOR.extract(carrier, context=Context()),
            kind=SpanKind.SERVER,
            start_time=start_ns + self._offset_ns,
        )
        context = self._root.get_span_context()
        self.trace_id = f"{context.trace_id:032x}" if context.is_valid else secrets.token_hex(16)

    def set(self, name: str, value: AttributeValue) -> None:
        """Record one attribute of the whole request."""
        self._root.set_attribute(name, value)

    @contextmanager
    def step(
        self,
        name: str,
        *,
        parent: Step | None = None,
        span_name: str | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, AttributeValue] | None = None,
        start_ns: int | None = None,
    ) -> Iterator[Step]:
        """Time the block. An exception is recorded by its type alone and goes on."""
        began = self._clock.monotonic_ns() if start_ns is None else start_ns
        context = set_span_in_context(parent.span if parent else self._root, Context())
        span = self._tracer.start_span(
            span_name or name,
            context=context,
            kind=kind,
            attributes={names.STEP: name},
            start_time=began + self._offset_ns,
        )
        step = Step(name=name, parent=parent.name if parent else None, start_ns=began, span=span)
        for key, value in (attributes or {}).items():
            step.set(key, value)
        self.steps.append(step)
        try:
            yield step
        except BaseException as error:
            step.set(names.ERROR_TYPE, error_type(error))
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            step.end_ns = self._clock.monotonic_ns()
            span.end(end_time=step.end_ns + self._offset_ns)

    def end(self, *, error: str | None = None) -> None:
        """Close the root span; `error` is a code."""
        if error is not None:
            self._root.set_attribute(names.ERROR_TYPE, error)
            self._root.set_status(Status(StatusCode.ERROR))
        self._root.end(end_time=self._clock.monotonic_ns() + self._offset_ns)

    def now_ns(self) -> int:
        """The present on the trace's own clock."""
        return self._clock.monotonic_ns()


def error_type(error: BaseException) -> str:
    """A fixed word for an exception, free of content."""
    match error:
        case AssistantError():
            return error.code
        case BackendFailure():
            return error.failure.value
        case asyncio.CancelledError() | GeneratorExit():
            return "cancelled"
        case _:
            return type(error).__name__
