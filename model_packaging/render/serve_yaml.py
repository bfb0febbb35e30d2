"""The on-prem engine's file: `vllm serve --config <file>`, and how vLLM reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable

import yaml
from pydantic import JsonValue

from model_packaging.render.arguments import EngineArgument

_HEADER = """\
# Rendered by `package-model render`; do not edit: change the deployment and render again.
#   vllm serve --config <this file>
# The engine's key comes by the environment variable VLLM_API_KEY, never from here.
"""


def serve_yaml(arguments: Iterable[EngineArgument]) -> bytes:
    """The file's bytes, sorted by name.

    A flag that is off is written as `no-<flag>: true`: `vllm serve --config` drops a `false`
    without a word, since the parser that reads the file does not know the flags of `serve`.
    """
    entries: dict[str, JsonValue] = {}
    for argument in arguments:
        if argument.value is False:
            entries[f"no-{argument.name}"] = True
        else:
            entries[argument.name] = argument.value
    body = yaml.safe_dump(entries, sort_keys=True, allow_unicode=True, width=10_000)
    return (_HEADER + body).encode()


def serve_arguments(text: bytes) -> tuple[str, ...]:
    """The arguments that `vllm serve --config` makes of a rendered file.

    vLLM's rules: true is a bare flag, false is nothing, a list is one token per item, an object is
    one token of JSON, anything else is one token.
    """
    found: list[str] = []
    for name, value in yaml.safe_load(text).items():
        match value:
            case False:
                continue
            case True:
                found.append(f"--{name}")
            case list():
                found += [f"--{name}", *map(str, value)] if value else []
            case dict():
                found += [f"--{name}", json.dumps(value)]
            case _:
                found += [f"--{name}", str(value)]
    return tuple(found)
