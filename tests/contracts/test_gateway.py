"""The gateway as a program: what it needs to start, what it writes, and how it ends."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lambdas.assistant import semantic_names as names
from lambdas.assistant.errors import PlanInvalid
from lambdas.gateway.app import build_app
from lambdas.gateway.settings import Settings, SettingsInvalid
from tests.contracts.fake_vllm import FakeTools, FakeVllm, calls, says
from tests.contracts.gateways import (
    CLIENT_KEY,
    ENGINE_KEY,
    environment_for,
    openai_client,
    plan_for,
    running_gateway,
)
from tests.contracts.loopback import LoopbackServer
from tests.lab.ports import free_port
from tests.request_path.plans import plan_document

ROOT = Path(__file__).resolve().parents[2]
SECRET_WORD = "Nordbank"
QUESTION = [{"role": "user", "content": f"The limit of {SECRET_WORD}?"}]
LIMIT = ("get_limit", json.dumps({"counterparty": SECRET_WORD, "product": "swap"}))


class Collector:
    """Takes OTLP over HTTP, as a collector does."""

    def __init__(self):
        self.requests = []

    async def __call__(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        self.requests.append((scope["path"], dict(scope["headers"]), json.loads(body)))
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


def spans_of(batches):
    return [
        span
        for batch in batches
        for resource in batch["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def attributes(span):
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def wait_for_health(port, process, log):
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except ConnectionError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise AssertionError("the gateway did not become healthy: " + log.read_text())


def test_as_a_program_it_answers_writes_spans_without_content_and_ends_on_sigterm(tmp_path):
    small, large = FakeVllm(calls(LIMIT)), FakeVllm(says(f"{SECRET_WORD} has 5."))
    log, spans, port = tmp_path / "log", tmp_path / "spans.jsonl", free_port()
    with (
        LoopbackServer(small) as one,
        LoopbackServer(large) as two,
        LoopbackServer(FakeTools(get_limit={SECRET_WORD: 5})) as three,
    ):
        document = plan_for(small=[one.url], large=[two.url], tools=three.url)
        settings = environment_for(
            tmp_path,
            document,
            PERIMETER_LISTEN=f"127.0.0.1:{port}",
            PERIMETER_SPANS_FILE=str(spans),
        )
        argv = [sys.executable, "-m", "lambdas.gateway"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv, cwd=ROOT, env=settings | {"PATH": os.environ["PATH"]}, stdout=out, stderr=out
            )
        try:
            wait_for_health(port, process, log)
            with openai_client(f"http://127.0.0.1:{port}") as client:
                answer = client.chat.completions.create(model="demo", messages=QUESTION)
            command_line = Path(f"/proc/{process.pid}/cmdline").read_text()
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait(60)
    assert answer.choices[0].message.content == f"{SECRET_WORD} has 5."
    assert status == 0, log.read_text()

    found = spans_of(json.loads(line) for line in spans.read_text().splitlines())
    steps = [attributes(span).get(names.STEP) for span in found]
    assert {"admit", "label", "pools", "route", "prompt", "attempt", "tools", "tool"} <= set(steps)
    [root] = [span for span in found if "parentSpanId" not in span]
    assert attributes(root)[names.TENANT] == "analysts"
    assert one_trace(found)
    said = log.read_text()
    assert f"trace={root['traceId']}" in said
    for text in (spans.read_text(), said, command_line):
        assert SECRET_WORD not in text
        assert CLIENT_KEY not in text
        assert ENGINE_KEY not in text


def one_trace(spans):
    return len({span["traceId"] for span in spans}) == 1


def test_a_wrong_setting_ends_it_at_once_with_what_to_do(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "lambdas.gateway"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PERIMETER_CLIENTS_FILE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr == (
        "PERIMETER_PLAN: is not set\n  fix: set it to the rendered on_prem/request_plan.json\n"
    )


def test_a_collector_is_sent_the_same_spans_with_its_credentials(tmp_path):
    collector = Collector()
    headers = tmp_path / "otlp-headers"
    headers.write_text("Authorization: Basic cGs6c2s=\n")
    with LoopbackServer(FakeVllm(says("Hello."))) as engine, LoopbackServer(collector) as sink:
        document = plan_for(small=[engine.url], large=[engine.url], tools=engine.url)
        with (
            running_gateway(
                tmp_path,
                document,
                PERIMETER_OTLP_TRACES_URL=f"{sink.url}/v1/traces",
                PERIMETER_OTLP_HEADERS_FILE=str(headers),
            ) as gateway,
            openai_client(gateway.url) as client,
        ):
            client.chat.completions.create(model="demo", messages=QUESTION)
    path, sent, _ = collector.requests[0]
    assert path == "/v1/traces"
    assert sent[b"authorization"] == b"Basic cGs6c2s="
    assert sent[b"content-type"] == b"application/json"
    spans = spans_of(body for *_, body in collector.requests)
    assert one_trace(spans)
    assert SECRET_WORD not in json.dumps(spans)


def test_the_engine_is_told_which_span_its_work_belongs_to(tmp_path):
    engine, spans = FakeVllm(says("Hello.")), tmp_path / "spans.jsonl"
    with LoopbackServer(engine) as server:
        document = plan_for(small=[server.url], large=[server.url], tools=server.url)
        with (
            running_gateway(tmp_path, document, PERIMETER_SPANS_FILE=str(spans)) as gateway,
            openai_client(gateway.url) as client,
        ):
            client.chat.completions.create(model="demo", messages=QUESTION)
    found = spans_of(json.loads(line) for line in spans.read_text().splitlines())
    [attempt] = [span for span in found if attributes(span).get(names.STEP) == "attempt"]
    parent = f"00-{attempt['traceId']}-{attempt['spanId']}-"
    assert engine.headers[0]["traceparent"].startswith(parent)


def test_a_plan_of_the_other_place_cannot_be_served_here(tmp_path):
    document = plan_document()
    pool = document["pools"]["gpu_small"]
    kept = {key: pool[key] for key in ("may_hold", "budgets")}
    document["pools"]["gpu_small"] = kept | {"kind": "bedrock", "profile": "eu.x"}
    with pytest.raises(PlanInvalid) as refused:
        build_app(Settings.read(environment_for(tmp_path, document)))
    assert str(refused.value) == (
        "plan.pools.gpu_small.kind: a gateway calls engines of our own only\n"
        "  fix: give the gateway the plan rendered for on_prem"
    )


def test_a_tool_that_is_a_function_cannot_be_called_from_here(tmp_path):
    document = plan_document()
    document["tools"]["get_rate"]["transport"] = {"kind": "lambda", "function": "rate"}
    with pytest.raises(PlanInvalid, match=r"plan\.tools\.get_rate\.transport\.kind: "):
        build_app(Settings.read(environment_for(tmp_path, document)))


@pytest.mark.parametrize(
    ("variable", "rule"),
    [
        ("PERIMETER_CA_FILE", "cannot be used: No such file or directory"),
        ("PERIMETER_SPANS_FILE", "cannot be written: No such file or directory"),
        ("PERIMETER_ENGINE_KEY_FILE", "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_not_there_is_named_with_its_variable(tmp_path, variable, rule):
    document = plan_document()
    document["pools"]["gpu_small"]["replicas"][0]["url"] = "https://gpu1.bank.example"
    path = tmp_path / "none" / "file"
    with pytest.raises(SettingsInvalid) as invalid:
        build_app(Settings.read(environment_for(tmp_path, document, **{variable: str(path)})))
    assert str(invalid.value).startswith(f"{variable} ({path}): {rule}\n  fix: ")


def test_a_proxy_in_the_environment_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("NO_PROXY", "")
    with LoopbackServer(FakeVllm(says("Hello."))) as engine:
        document = plan_for(small=[engine.url], large=[engine.url], tools=engine.url)
        with running_gateway(tmp_path, document) as gateway:
            for name in ("HTTP_PROXY", "ALL_PROXY"):
                monkeypatch.delenv(name)
            with openai_client(gateway.url) as client:
                answer = client.chat.completions.create(model="demo", messages=QUESTION)
    assert answer.choices[0].message.content == "Hello."
