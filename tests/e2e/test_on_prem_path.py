"""From the registry to an answer, every part real: MLflow, package, vLLM, tools, gateway."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx2
import pytest

from examples.analyst_model import evaluate
from examples.demo.exchanges import QUESTIONS
from tests.e2e.path import KEYS, OnPremPath

pytestmark = [pytest.mark.engine, pytest.mark.mlflow]


@pytest.fixture(scope="module")
def path(example, demo_engines, tmp_path_factory):
    with OnPremPath(example, demo_engines, tmp_path_factory.mktemp("path")) as running:
        yield running


def answered(response: httpx2.Response) -> tuple[str, dict]:
    assert response.status_code == 200, response.text
    body = response.json()
    return body["choices"][0]["message"]["content"], body["perimeter"]


def test_each_engine_serves_the_weights_that_the_lock_names(example):
    for model, locked in example.build_report["models"].items():
        verifier = example.package(model) / "verify.py"
        command = [sys.executable, "-I", str(verifier), str(example.package(model)), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["weights_digest"] == locked["weights_digest"]


def test_one_tool_runs_with_the_arguments_of_the_question_and_its_figure_is_in_the_answer(path):
    answer, record = answered(path.ask(QUESTIONS[0].text))
    (call,) = record["tool_calls"]
    assert call["name"] == "get_exposure"
    assert call["arguments"] == {"counterparty": "Orionhausen SpA", "as_of": "2026-10-01"}
    assert call["result"] == {"exposure_eur": 248_350_000}
    assert answer == "Our exposure to Orionhausen SpA is EUR 248350000 as of 2026-10-01."


def test_two_tools_run_for_one_question(path):
    answer, record = answered(path.ask(QUESTIONS[1].text))
    found = {call["name"]: call["result"] for call in record["tool_calls"]}
    assert found == {
        "get_limit": {"limit_eur": 125_000_000, "used_pct": 62},
        "get_rating": {"rating": "A+"},
    }
    assert "125000000" in answer
    assert "A+" in answer


def test_a_follow_up_uses_a_figure_that_only_the_tool_result_holds(path):
    _, first = answered(path.ask(QUESTIONS[0].text))
    history = ({"role": "user", "content": QUESTIONS[0].text}, *first["messages"])
    answer, record = answered(path.ask(QUESTIONS[2].text, history=history))
    (call,) = record["tool_calls"]
    assert call["name"] == "convert"
    expected = {"amount": 248_350_000, "from_currency": "EUR", "to_currency": "USD"}
    assert call["arguments"] == expected
    assert answer == "EUR 248350000 is USD 269112060."


def test_a_french_question_gets_a_french_answer(path):
    answer, _ = answered(path.ask("Affiche la note Fitch de Castelgate SE."))
    assert answer == "Fitch note Castelgate SE A+."


def test_what_the_book_does_not_hold_is_said_and_not_made_up(path):
    answer, record = answered(path.ask("Can you look up how DBRS rates Helvstadt SA?"))
    assert record["tool_calls"][0]["result"] == {"error": "not found"}
    assert answer == "No figure was found for Helvstadt SA."


def test_nothing_runs_that_the_intent_does_not_offer(path):
    """Questions that need a tool of another intent: the models take the nearest offered one.

    That a call of a tool that is not offered is refused is shown in tests/contracts, where the
    engine can be made to write one.
    """
    offered = set(path.plan["intents"]["market"]["tools"])
    beyond = [
        row.messages[0]["content"]
        for row in evaluate.heldout(200)
        if row.kind == "single" and row.calls[0]["name"] not in offered
    ]
    assert len(beyond) >= 10
    for question in beyond[:20]:
        response = path.ask(question, tenant="markets", intent="market", label="C1")
        ran = {call["name"] for call in response.json()["perimeter"]["tool_calls"]}
        assert ran <= offered, question
        assert response.status_code == 200 or not ran


def test_an_undeclared_label_counts_as_the_highest_and_a_result_raises_a_lower_one(path):
    _, unlabelled = answered(path.ask("Hello."))
    assert unlabelled["label"] == "C4"
    question = "Can you look up the EUR/USD rate on 2026-11-11?"
    _, public = answered(path.ask(question, tenant="markets", label="C1", intent="market"))
    assert public["label"] == "C1"
    _, confidential = answered(path.ask(QUESTIONS[0].text, tenant="markets", label="C1"))
    assert confidential["label"] == "C4"


def test_the_small_model_picks_and_the_large_one_writes(path):
    _, record = answered(path.ask(QUESTIONS[0].text))
    assert [(one["phase"], one["pool"]) for one in record["attempts"]] == [
        ("pick", "gpu_small"),
        ("write", "gpu_large"),
    ]


def test_a_repeated_prefix_comes_from_the_cache(path):
    """Counted in tokens by the engine; its CPU build caches in blocks of 128."""
    path.ask(QUESTIONS[0].text)
    _, record = answered(path.ask(QUESTIONS[1].text))
    assert all(one["cached_tokens"] >= 256 for one in record["attempts"])


def test_a_stream_says_what_the_whole_response_says(path):
    whole, _ = answered(path.ask(QUESTIONS[0].text))
    body = {
        "model": "demo",
        "stream": True,
        "messages": [{"role": "user", "content": QUESTIONS[0].text}],
    }
    lines = [
        line.removeprefix("data: ")
        for line in path.post(body).text.splitlines()
        if line.startswith("data: ")
    ]
    assert lines[-1] == "[DONE]"
    deltas = [json.loads(line)["choices"] for line in lines[:-1]]
    pieces = [choice[0]["delta"].get("content") or "" for choice in deltas if choice]
    assert "".join(pieces) == whole
    assert sum(bool(piece) for piece in pieces) > 3


def test_steps_lie_inside_the_request_and_name_the_whole_path(path):
    _, record = answered(path.ask(QUESTIONS[1].text))
    steps = record["steps"]
    named = {step["name"] for step in steps}
    assert {"admit", "label", "pools", "route", "prompt", "attempt", "tools", "answer"} <= named
    for step in steps:
        assert (
            0 <= step["start_ms"] <= step["start_ms"] + step["duration_ms"] <= record["duration_ms"]
        )


def test_neither_spans_nor_logs_hold_a_word_of_the_conversation_or_a_key(path):
    path.ask("Could you show me our total exposure to Terrabridge NV as of 1 October 2026?")
    written = "".join(
        file.read_text(encoding="utf-8", errors="replace")
        for file in (path.spans, path.gateway_log, path.tools_log)
    )
    engine_logs = "".join(
        engine.log.read_text(encoding="utf-8", errors="replace") for engine in path.engines.values()
    )
    assert "attempt" in written
    for secret in ("Terrabridge", "63100000", *KEYS.values(), str(path.engines["small"].api_key)):
        assert secret not in written
        assert secret not in engine_logs


def test_a_caller_without_a_key_gets_nothing(path):
    response = httpx2.post(f"{path.url}/v1/chat/completions", json={}, timeout=10)
    assert response.status_code == 401
