"""JSON read without the leniency of the standard library.

Python accepts a key that occurs twice, NaN, and lone surrogates. Each of them is a way in which two
readers of the same bytes can see different requests, so each is refused.
"""

import json
from typing import Never

MAX_DEPTH = 64


class JsonRefused(ValueError):
    """The text is not strict JSON. The message names the rule and quotes no value."""


def parse(data: bytes | str) -> object:
    """The value of `data`.

    Raises `JsonRefused` for invalid UTF-8 or JSON, a key that occurs twice, NaN or an infinity, a
    lone surrogate, a number too long to convert, or nesting deeper than 64.
    """
    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        _check(value, depth=0)
    except UnicodeDecodeError:
        raise JsonRefused("the text is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonRefused(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels") from None
    except JsonRefused:
        raise
    except ValueError:
        raise JsonRefused("a number is too long") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonRefused("a key occurs twice in one object")
    return found


def _no_constant(name: str) -> Never:
    raise JsonRefused(f"{name} is not a JSON number")


def _check(value: object, *, depth: int) -> None:
    if depth == MAX_DEPTH and isinstance(value, list | dict):
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            _check_text(value)
        case float():
            # 1e999 is valid JSON that Python turns into an infinity.
            if value in (float("inf"), float("-inf")):
                raise JsonRefused("a number is out of range")
        case list():
            for item in value:
                _check(item, depth=depth + 1)
        case dict():
            for key, item in value.items():
                _check_text(key)
                _check(item, depth=depth + 1)


def _check_text(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise JsonRefused("a text holds half of a surrogate pair") from None
