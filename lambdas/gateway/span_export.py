"""Where spans go: a file, a collector, both, or nowhere (then the SDK is not even imported)."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import httpx2
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from lambdas.assistant.prompt import compact_json
from lambdas.gateway.otlp_json import traces_document

SEND_SECONDS = 10

log = logging.getLogger("perimeter.spans")


class Sink(Protocol):
    """Takes batches of spans. Called on the SDK's thread, one batch at a time."""

    def write(self, batch: bytes) -> None:
        """Take one batch. Raises `OSError` or `httpx2.HTTPError` when it is lost."""
        ...

    def close(self) -> None:
        """Let go of what the sink holds."""
        ...


class FileSink:
    """Appends each batch as one line. A path that cannot be opened fails at once (`OSError`)."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)

    def write(self, batch: bytes) -> None:
        """See `Sink.write`."""
        self._file.write(batch + b"\n")

    def close(self) -> None:
        """See `Sink.close`."""
        self._file.close()


class CollectorSink:
    """Posts each batch to a collector, with `headers` such as its credentials."""

    def __init__(self, url: str, *, headers: Mapping[str, str]) -> None:
        self._url = url
        self._client = httpx2.Client(
            trust_env=False,
            timeout=SEND_SECONDS,
            headers={**headers, "content-type": "application/json"},
        )

    def write(self, batch: bytes) -> None:
        """See `Sink.write`. Any status but a success is a loss."""
        self._client.post(self._url, content=batch).raise_for_status()

    def close(self) -> None:
        """See `Sink.close`."""
        self._client.close()


class JsonExporter(SpanExporter):
    """Gives each batch to a sink as OTLP JSON. What is lost is counted in the log."""

    def __init__(self, sink: Sink, *, resource: Mapping[str, str]) -> None:
        self._sink = sink
        self._resource = resource

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write one batch."""
        document = traces_document(spans, resource=self._resource)
        try:
            self._sink.write(compact_json(document).encode())
        except (OSError, httpx2.HTTPError) as error:
            log.warning("%d spans were not exported: %s", len(spans), type(error).__name__)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the sink, after the last batch."""
        self._sink.close()


def tracer_provider(sinks: Sequence[Sink], *, resource: Mapping[str, str]) -> TracerProvider:
    """A provider that exports in the background, away from the event loop."""
    provider = TracerProvider(resource=Resource(dict(resource)), shutdown_on_exit=False)
    for sink in sinks:
        provider.add_span_processor(BatchSpanProcessor(JsonExporter(sink, resource=resource)))
    return provider
