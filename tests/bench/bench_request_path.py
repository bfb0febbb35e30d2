"""What the gateway costs: the same question asked of it and, as its two model calls, of the engines
directly.

Medians over interleaved rounds; CPU seconds of the gateway process, since wall clocks are shared.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from pathlib import Path

import httpx2
import pytest

from examples.demo.exchanges import QUESTIONS
from tests.e2e.path import OnPremPath

ROUNDS = 20
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of one process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@pytest.fixture(scope="module")
def path(example, demo_engines, tmp_path_factory):
    with OnPremPath(example, demo_engines, tmp_path_factory.mktemp("bench")) as running:
        yield running


def completion(engine, body):
    headers = {"Authorization": f"Bearer {engine.api_key}"}
    url = f"{engine.url}/v1/chat/completions"
    response = httpx2.post(url, json=body, headers=headers, timeout=60)
    response.raise_for_status()
    return response.json()["choices"][0]["message"]


def direct(path, prefix, question):
    """The two model calls of one answered question, without a gateway and with the tool's result at
    hand."""
    common = {"temperature": 0, "chat_template_kwargs": {"enable_thinking": False}}
    messages = [{"role": "system", "content": prefix["system"]}, question]
    picked = completion(
        path.engines["small"],
        {
            "model": "analyst-small",
            "messages": messages,
            "tools": prefix["tools"],
            "max_tokens": 256,
            **common,
        },
    )
    (call,) = picked["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": '{"exposure_eur": 248350000}'}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    return completion(
        path.engines["large"],
        {
            "model": "analyst-large",
            "messages": [*messages, answer, result],
            "tools": prefix["tools"],
            "tool_choice": "none",
            "max_tokens": 128,
            **common,
        },
    )["content"]


def test_the_gateway_against_the_engines_alone(path, capsys):
    prefix = json.loads((path.example.rendered / "prompts" / "lookup.json").read_bytes())
    question = {"role": "user", "content": QUESTIONS[0].text}
    through, alone = [], []
    path.ask(QUESTIONS[0].text)
    direct(path, prefix, question)
    began = cpu_seconds(path.gateway_pid)
    for _ in range(ROUNDS):
        started = time.perf_counter()
        path.ask(QUESTIONS[0].text)
        through.append(time.perf_counter() - started)
        started = time.perf_counter()
        direct(path, prefix, question)
        alone.append(time.perf_counter() - started)
    cpu = (cpu_seconds(path.gateway_pid) - began) / ROUNDS
    gateway, engines = statistics.median(through) * 1000, statistics.median(alone) * 1000
    with capsys.disabled():
        print(f"\nthrough the gateway {gateway:.0f} ms, engines alone {engines:.0f} ms (medians)")
        print(f"ratio {gateway / engines:.3f}; gateway CPU {cpu * 1000:.1f} ms per request")
