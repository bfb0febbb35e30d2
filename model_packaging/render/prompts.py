"""The immutable start of every prompt: an intent's system text and its tools."""

from __future__ import annotations

import hashlib
import json

from pydantic import JsonValue

from model_packaging.deployment.deployment import Deployment


def prompt_bytes(deployment: Deployment, intent: str) -> bytes:
    """The prompt file of `intent`: compact JSON, tools sorted by name.

    Keys are not sorted: a chat template writes a tool's arguments in the order in which they are
    declared, and a model is trained on that order.
    """
    tools: list[JsonValue] = []
    for name in sorted(deployment.intents[intent].tools):
        tool = deployment.tools[name]
        tools.append(
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    # vLLM 0.32 checks no argument of a named or required call without it.
                    "strict": True,
                },
            }
        )
    value = {"system": deployment.intents[intent].system, "tools": tools}
    return (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def prompt_path(intent: str) -> str:
    """Path of the file, relative to the rendered folder."""
    return f"prompts/{intent}.json"


def prompt_sha256(deployment: Deployment, intent: str) -> str:
    """SHA-256 of the file's bytes, in hex."""
    return hashlib.sha256(prompt_bytes(deployment, intent)).hexdigest()
