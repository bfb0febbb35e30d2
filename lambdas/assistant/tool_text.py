"""A tool's JSON as the model reads it: usual spacing, and every number digit for digit.

A number that went through a float could lose a digit of an amount or a zero of a rate, and the
model would repeat that.
"""

import json
from dataclasses import dataclass

from lambdas.assistant import strict_json


@dataclass(frozen=True, slots=True)
class _Number:
    literal: str


def tool_text(text: str) -> str:
    """What `json.dumps(result, ensure_ascii=False)` gives, but with the numbers as they were.

    Raises `strict_json.JsonRefused` when it is not strict JSON.
    """
    strict_json.parse(text)
    return _write(json.loads(text, parse_float=_Number, parse_int=_Number))


def _write(value: object) -> str:
    match value:
        case _Number(literal):
            return literal
        case dict():
            pairs = (f"{_quote(key)}: {_write(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(_write(item) for item in value) + "]"
        case str():
            return _quote(value)
        case _:
            return json.dumps(value)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
