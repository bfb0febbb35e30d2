"""Held-out accuracy through a serving engine: ``python -m examples.analyst_model.evaluate --url URL
--model NAME ``.

Every request carries values that occur in no training row; half of them also carry phrasings that
occur in none. A row with calls is right when the engine's own tool parser returns exactly the
expected calls (names, argument values, order) and no stray text; a row with a sentence is right
when the text is equal. Greedy decoding, so a second run gives the same marks.
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from examples.analyst_model.conversations import Conversation, conversation
from examples.analyst_model.prompt import SYSTEM, tools

SEED = 4242
CALLS_BAR = {
    "plain": 0.95,
    "thinking": 0.93,
}  # least share of exact calls for weights to be committed


def heldout(count: int, *, seed: int = SEED) -> list[Conversation]:
    """Return ``count`` conversations; the same seed gives the same ones, and a longer list begins
    with the shorter."""
    rng = Random(seed)
    return [
        conversation(rng, values_from="heldout", wording="heldout" if at % 2 else "train")
        for at in range(count)
    ]


def request_body(example: Conversation, *, model: str, thinking: bool) -> dict[str, Any]:
    """Return the chat-completions body of one row, as the request path sends it."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    open_calls: list[str] = []
    for message in example.messages:
        sent = dict(message)
        if "tool_calls" in message:
            open_calls = [f"call_{len(messages)}_{at}" for at in range(len(message["tool_calls"]))]
            sent["tool_calls"] = [
                {
                    "id": identity,
                    "type": "function",
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": json.dumps(call["function"]["arguments"], ensure_ascii=False),
                    },
                }
                for identity, call in zip(open_calls, message["tool_calls"], strict=True)
            ]
        elif message["role"] == "tool":
            sent["tool_call_id"] = open_calls.pop(0)
        messages.append(sent)
    offered = [
        {"type": "function", "function": {**tool["function"], "strict": True}} for tool in tools()
    ]
    return {
        "model": model,
        "messages": messages,
        "tools": offered,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "temperature": 0,
        "seed": 0,
        "max_tokens": 400,
        "chat_template_kwargs": {"enable_thinking": thinking},
    }


def is_right(example: Conversation, message: dict[str, Any]) -> bool:
    """Return whether the assistant ``message`` of the engine is the expected one."""
    content = (message.get("content") or "").strip()
    try:
        calls = [
            {
                "name": call["function"]["name"],
                "arguments": json.loads(call["function"]["arguments"]),
            }
            for call in message.get("tool_calls") or []
        ]
    except ValueError:
        return False
    return calls == example.calls and content == example.content


class Client:
    """Posts to one engine; `key` is its API key, when it has one."""

    def __init__(self, url: str, *, key: str | None = None) -> None:
        self.url = url.rstrip("/") + "/v1/chat/completions"
        self.headers = {"Content-Type": "application/json"}
        if key:
            self.headers["Authorization"] = f"Bearer {key}"

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the assistant message of one completion."""
        request = urllib.request.Request(self.url, json.dumps(body).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=120) as response:
            answer: dict[str, Any] = json.load(response)["choices"][0]["message"]
        return answer


def marks(
    client: Client, model: str, examples: list[Conversation], *, thinking: bool
) -> list[bool]:
    """Return for each example whether the engine's answer is right."""

    def one(example: Conversation) -> bool:
        return is_right(
            example, client.message(request_body(example, model=model, thinking=thinking))
        )

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(one, examples))


def _share(of: Iterable[bool]) -> dict[str, float | int]:
    listed = list(of)
    return {"rows": len(listed), "right": round(sum(listed) / len(listed), 4) if listed else 0.0}


def summary(examples: list[Conversation], right: list[bool]) -> dict[str, Any]:
    """Return exact shares over all calls, and by kind, language, phrasing and tool."""
    slices: dict[str, list[bool]] = defaultdict(list)
    for example, mark in zip(examples, right, strict=True):
        slices[f"kind {example.kind}"].append(mark)
        if example.calls:
            slices["calls"].append(mark)
            slices["calls, French" if example.french else "calls, English"].append(mark)
            slices[
                "calls, held-out phrasing" if example.heldout_phrasing else "calls, seen phrasing"
            ].append(mark)
            if len(example.calls) == 1:
                slices[f"tool {example.calls[0]['name']}"].append(mark)
    return {name: _share(slices[name]) for name in sorted(slices)}


def report(client: Client, model: str, *, rows: int, engine: str) -> dict[str, Any]:
    """Return the figures of one served model over `rows` held-out conversations, in both modes."""
    examples = heldout(rows)
    found: dict[str, Any] = {
        "engine": engine,
        "tool_parser": "hermes",
        "seed": SEED,
        "rows": len(examples),
    }
    for mode in CALLS_BAR:
        right = marks(client, model, examples, thinking=mode == "thinking")
        found[mode] = summary(examples, right)
        found[f"{mode}_wrong_rows"] = [at for at, mark in enumerate(right) if not mark]
    return found


def passes(found: dict[str, Any]) -> bool:
    """Return whether the calls of a report reach the bar in both modes."""
    return all(found[mode]["calls"]["right"] >= bar for mode, bar in CALLS_BAR.items())


def main() -> None:
    """Evaluate a running engine and print the figures; exit 1 below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True, help="served model name")
    parser.add_argument("--key-file", type=Path, help="file with the engine's API key")
    parser.add_argument("--engine", default="not said", help="what serves it, for the record")
    parser.add_argument("--rows", type=int, default=600)
    arguments = parser.parse_args()
    key = arguments.key_file.read_text(encoding="utf-8").strip() if arguments.key_file else None
    client = Client(arguments.url, key=key)
    found = report(client, arguments.model, rows=arguments.rows, engine=arguments.engine)
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if not passes(found):
        raise SystemExit("below the bar: do not commit these weights")


if __name__ == "__main__":
    main()
