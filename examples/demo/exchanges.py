"""Three questions to the gateway over its OpenAI API: one tool, two tools in parallel, and a
follow-up that needs a result.

All values and phrasings are held out from the models' training (`examples.analyst_model.splits`).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import httpx2

from examples.demo import breakdown
from examples.demo.console import Console

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, which tools must run for it, and whether the first exchange is its history."""

    title: str
    text: str
    tools: tuple[str, ...]
    follows_first: bool = False


QUESTIONS = (
    Question(
        "one tool",
        "Could you show me our total exposure to Orionhausen SpA as of 1 October 2026?",
        ("get_exposure",),
    ),
    Question(
        "two tools in parallel",
        "Can you look up the limit on swaps with Castelgate SE"
        " and the credit rating of Castelgate SE from Fitch?",
        ("get_limit", "get_rating"),
    ),
    Question(
        "a follow-up that needs the tool's result",
        "What is it in USD?",
        ("convert",),
        follows_first=True,
    ),
)


class Refused(Exception):
    """The gateway answered with an error, or other tools ran than the question needs."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answered question, with the client's own wall clock in milliseconds."""

    content: str
    perimeter: dict[str, Any]
    wall_ms: float


def request_body(question: Question, history: list[Message]) -> dict[str, Any]:
    """Return the chat-completions body: the caller declares no label, so the request counts as the
    highest."""
    return {
        "model": "demo",
        "messages": [*history, {"role": "user", "content": question.text}],
        "metadata": {"perimeter.trace": "steps"},
    }


def ask(client: httpx2.Client, question: Question, history: list[Message]) -> Answer:
    """Ask one question; raise Refused for anything but an answer by the tools the question needs.

    The clock starts before the request is built and stops when the answer is parsed.
    """
    began = time.perf_counter()
    response = client.post("/v1/chat/completions", json=request_body(question, history))
    if response.status_code != 200:
        raise Refused(f"{question.title}: HTTP {response.status_code}: {response.text}")
    body = response.json()
    wall_ms = (time.perf_counter() - began) * 1000
    answer = Answer(body["choices"][0]["message"]["content"], body["perimeter"], wall_ms)
    called = tuple(sorted(call["name"] for call in answer.perimeter["tool_calls"]))
    if called != tuple(sorted(question.tools)):
        raise Refused(
            f"{question.title}: the model called {called or 'no tool'}, not {question.tools}"
        )
    return answer


def show(question: Question, answer: Answer) -> None:
    """Print one exchange: question, tools with arguments and results, answer, steps."""
    Console.text(f"Q  {question.text}")
    for call in answer.perimeter["tool_calls"]:
        arguments, result = (
            json.dumps(call[key], ensure_ascii=False) for key in ("arguments", "result")
        )
        Console.text(
            f"   {call['name']}({arguments}) -> {result}"
            f"   label {call['label']}, {call['duration_ms']:.1f} ms"
        )
    Console.text(f"A  {answer.content}\n")
    Console.text(breakdown.table(answer.perimeter["steps"], wall_ms=answer.wall_ms))


def run(url: str, key: str) -> list[Answer]:
    """Ask and show the three questions; return their answers."""
    answers: list[Answer] = []
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60) as client:
        for number, question in enumerate(QUESTIONS, 1):
            history: list[Message] = []
            if question.follows_first:
                first = {"role": "user", "content": QUESTIONS[0].text}
                history = [first, *answers[0].perimeter["messages"]]
            answer = ask(client, question, history)
            Console.text(f"\n--- {number}. {question.title}")
            show(question, answer)
            answers.append(answer)
    return answers
