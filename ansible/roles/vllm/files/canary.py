"""Ask an engine for a tool call that its model made in training, and compare.

A healthy engine can still be wrong: another model under the same name, a broken kernel, a tool
parser that does not fit. Needs nothing but Python. The key is read from a file and is no argument.
Prints nothing of the conversation.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.request
from typing import Any


def main() -> None:
    """Exit 0 when the calls are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "served-name", "model", "golden", "key-file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--timeout", type=float, required=True)
    options = parser.parse_args()
    with open(options.key_file, encoding="ascii") as file:
        key = file.read().strip()

    def call(path: str, body: object = None) -> Any:
        request = urllib.request.Request(options.url + path)
        request.add_header("Authorization", f"Bearer {key}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=options.timeout) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            sys.exit(f"canary: {path} failed: {error}")

    served = {one["id"]: one.get("root") for one in call("/v1/models")["data"]}
    if served.get(options.served_name) != options.model:
        sys.exit(f"canary: serves {served}, not {options.model} as {options.served_name}")
    with open(options.golden, encoding="utf-8") as file:
        rows = json.load(file)["tool_calls"]
    if not rows:
        sys.exit(
            "canary: the package has no golden tool call; log golden_calls.json with the model"
        )
    # The fewest calls: what is asked is whether it works, not how well.
    row = min(rows, key=lambda one: len(one["calls"]))
    tools = [{**tool, "function": {**tool["function"], "strict": True}} for tool in row["tools"]]
    message = call(
        "/v1/chat/completions",
        {
            "model": options.served_name,
            "messages": row["messages"],
            "tools": tools,
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "temperature": 0,
            "seed": 0,
            "max_tokens": 512,
            "chat_template_kwargs": {"enable_thinking": False},
        },
    )["choices"][0]["message"]
    found = []
    for one in message.get("tool_calls") or []:
        try:
            arguments = json.loads(one["function"]["arguments"])
        except ValueError:
            arguments = None
        found.append({"name": one["function"]["name"], "arguments": arguments})
    if found != row["calls"]:
        names = [one["name"] for one in found]
        wanted = [one["name"] for one in row["calls"]]
        sys.exit(
            f"canary: called {names or 'no tool'}, and in training {wanted} with its arguments"
        )


if __name__ == "__main__":
    main()
