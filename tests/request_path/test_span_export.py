import json
from dataclasses import dataclass, field

from lambdas.assistant import semantic_names as names
from lambdas.gateway.span_export import FileSink, tracer_provider


@dataclass
class Kept:
    batches: list = field(default_factory=list)
    closed: bool = False

    def write(self, batch):
        self.batches.append(batch)

    def close(self):
        self.closed = True


RESOURCE = {"service.name": "perimeter-gateway"}


def exported(tmp_path, record):
    path = tmp_path / "spans.jsonl"
    provider = tracer_provider([FileSink(path)], resource=RESOURCE)
    record(provider.get_tracer("perimeter"))
    provider.shutdown()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_batch_is_one_line_in_the_protocols_own_json_form(tmp_path):
    def record(tracer):
        span = tracer.start_span("label", start_time=1_000)
        span.set_attribute(names.DATA_LABEL, "C2")
        span.set_attribute(names.INPUT_TOKENS, 7)
        span.set_attribute(names.FIRST_CHUNK_SECONDS, 0.5)
        span.set_attribute(names.REQUEST_STREAM, True)
        span.set_attribute(names.FINISH_REASONS, ["stop"])
        span.end(end_time=3_000)

    [batch] = exported(tmp_path, record)
    [resource_spans] = batch["resourceSpans"]
    assert resource_spans["resource"]["attributes"] == [
        {"key": "service.name", "value": {"stringValue": "perimeter-gateway"}}
    ]
    [scope_spans] = resource_spans["scopeSpans"]
    [span] = scope_spans["spans"]
    assert (len(span["traceId"]), len(span["spanId"])) == (32, 16)
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == ("1000", "3000")
    assert (span["name"], span["kind"], span["status"]) == ("label", 1, {"code": 0})
    assert "parentSpanId" not in span
    assert {item["key"]: item["value"] for item in span["attributes"]} == {
        names.DATA_LABEL: {"stringValue": "C2"},
        names.INPUT_TOKENS: {"intValue": "7"},
        names.FIRST_CHUNK_SECONDS: {"doubleValue": 0.5},
        names.REQUEST_STREAM: {"boolValue": True},
        names.FINISH_REASONS: {"arrayValue": {"values": [{"stringValue": "stop"}]}},
    }


def test_an_attribute_with_any_other_name_does_not_leave(tmp_path):
    def record(tracer):
        tracer.start_span("x", attributes={"gen_ai.input.messages": "Nordbank"}).end()

    [batch] = exported(tmp_path, record)
    assert "Nordbank" not in json.dumps(batch)


def test_spans_that_cannot_be_written_are_counted_in_the_log_and_lost(caplog):
    class Broken(Kept):
        def write(self, batch):
            raise OSError("disk full of Nordbank")

    provider = tracer_provider([Broken()], resource=RESOURCE)
    provider.get_tracer("perimeter").start_span("x").end()
    provider.shutdown()
    assert "1 spans were not exported: OSError" in caplog.text
    assert "Nordbank" not in caplog.text


def test_every_batch_goes_to_every_writer():
    sinks = [Kept(), Kept()]
    provider = tracer_provider(sinks, resource=RESOURCE)
    provider.get_tracer("perimeter").start_span("x").end()
    provider.shutdown()
    assert [len(sink.batches) for sink in sinks] == [1, 1]
    assert sinks[0].batches == sinks[1].batches
    assert all(sink.closed for sink in sinks)
