"""The immutable part of a prompt: its text is fixed at rendering, its bytes here, once.

An engine reuses the work for a prefix only if every token of it is the same, so the prefix is
serialised once per process and never again, and nothing volatile (a date, a user, a feature) may
come before the conversation.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptPrefix:
    """System text and tool definitions of one intent.

    `system_json` and `tools_json` are the exact bytes (as text) that go into every call;
    `tools_json` is None when the intent has no tools. `sha256` is the digest of the rendered file
    they came from.
    """

    system: str
    tool_names: tuple[str, ...]
    system_json: str
    tools_json: str | None
    sha256: str


def compact_json(value: object) -> str:
    """JSON without spaces and with text as it is: the form of everything sent to an engine."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_prefix(
    *, system: str, tools: Sequence[object], tool_names: tuple[str, ...], source: bytes
) -> PromptPrefix:
    """Serialise a prompt file's content. `source` is the file's bytes, for the digest."""
    return PromptPrefix(
        system=system,
        tool_names=tool_names,
        system_json=compact_json({"role": "system", "content": system}),
        tools_json=compact_json(list(tools)) if tools else None,
        sha256=hashlib.sha256(source).hexdigest(),
    )
