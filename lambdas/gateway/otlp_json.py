"""Spans in the JSON form of the OpenTelemetry protocol, with the attributes that may leave.

One form serves both ways out: a collector takes it over HTTP, and as one line per batch it is the
protocol's own file format.
"""

from collections.abc import Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from lambdas.assistant.semantic_names import EXPORTED

KINDS = {SpanKind.INTERNAL: 1, SpanKind.SERVER: 2, SpanKind.CLIENT: 3}
STATUSES = {StatusCode.UNSET: 0, StatusCode.OK: 1, StatusCode.ERROR: 2}


def traces_document(
    spans: Sequence[ReadableSpan], *, resource: Mapping[str, str]
) -> dict[str, object]:
    """A batch of spans of this process as one `TracesData` message."""
    scope_spans = {"scope": {"name": "perimeter"}, "spans": [_span(span) for span in spans]}
    attributes = [_attribute(name, value) for name, value in resource.items()]
    return {
        "resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [scope_spans]}]
    }


def _span(span: ReadableSpan) -> dict[str, object]:
    context = span.get_span_context()
    if context is None:
        raise ValueError("a span that ended has a context")
    document: dict[str, object] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "kind": KINDS.get(span.kind, 0),
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": [
            _attribute(name, value)
            for name, value in (span.attributes or {}).items()
            if name in EXPORTED
        ],
        "status": {"code": STATUSES[span.status.status_code]},
    }
    if span.parent is not None:
        document["parentSpanId"] = f"{span.parent.span_id:016x}"
    return document


def _attribute(name: str, value: object) -> dict[str, object]:
    return {"key": name, "value": _value(value)}


def _value(value: object) -> dict[str, object]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}
