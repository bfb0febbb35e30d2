"""The JSON Schema of a tool's arguments: the part that every engine here enforces alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, JsonValue

from model_packaging.deployment.problems import Problem, raise_if_any

_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
# A keyword outside this list would bind one reader (the engine's grammar, the check before a tool
# runs, Bedrock) and be ignored by another, so it is refused rather than half obeyed.
_KEYWORDS = frozenset(
    {
        "type",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
    }
)
MAX_DEPTH = 8


def _is_an_arguments_schema(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if schema.get("type") != "object":
        raise_if_any(
            [
                Problem(
                    "type", rule="is not `object`", fix="write `type: object`: arguments have names"
                )
            ]
        )
    raise_if_any(_problems(schema, path="", depth=0))
    return schema


def _problems(schema: Mapping[str, JsonValue], *, path: str, depth: int) -> Iterator[Problem]:
    here = f"{path}." if path else ""
    if depth > MAX_DEPTH:
        yield Problem(
            path, rule=f"is nested deeper than {MAX_DEPTH} levels", fix="flatten the arguments"
        )
        return
    for keyword in sorted(set(schema) - _KEYWORDS):
        yield Problem(
            f"{here}{keyword}",
            rule="is a keyword that not every engine enforces, so it would be obeyed in one place "
            "only",
            fix=f"use these alone: {', '.join(sorted(_KEYWORDS))}",
        )
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        yield Problem(
            f"{here}type",
            rule="is missing" if kind is None else f"`{kind}` is not a JSON type",
            fix=f"write one of {', '.join(sorted(_TYPES))}",
        )
    if kind == "object":
        yield from _object_problems(schema, here=here, depth=depth)
    if kind == "array":
        items = schema.get("items")
        if not isinstance(items, Mapping):
            yield Problem(f"{here}items", rule="is missing", fix="say what the array holds")
        else:
            yield from _problems(items, path=f"{here}items", depth=depth + 1)


def _object_problems(
    schema: Mapping[str, JsonValue], *, here: str, depth: int
) -> Iterator[Problem]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        yield Problem(
            f"{here}properties", rule="is missing", fix="name the arguments, `{}` for none"
        )
        return
    if schema.get("additionalProperties") is not False:
        yield Problem(
            f"{here}additionalProperties",
            rule="is not `false`, which every tool sent with `strict: true` needs",
            fix="write `additionalProperties: false`",
        )
    required = schema.get("required", [])
    if not isinstance(required, list):
        yield Problem(f"{here}required", rule="is not a list", fix="list the names of arguments")
        required = []
    for name in required:
        if name not in properties:
            yield Problem(
                f"{here}required",
                rule=f"names `{name}`, which is not a property",
                fix="correct the name",
            )
    for name, child in properties.items():
        where = f"{here}properties.{name}"
        if isinstance(child, Mapping):
            yield from _problems(child, path=where, depth=depth + 1)
        else:
            yield Problem(where, rule="is not a schema", fix="write an object with a `type`")


Parameters = Annotated[Mapping[str, JsonValue], AfterValidator(_is_an_arguments_schema)]
"""Arguments of a tool.

The order of `properties` is kept: chat templates write them in it, and models are trained on it.
"""
