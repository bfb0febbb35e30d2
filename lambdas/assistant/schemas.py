"""Checks the arguments of a tool call against the tool's JSON schema."""

from collections.abc import Callable, Iterator, Mapping
from typing import Never

import fastjsonschema

from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.plan import Tool

Check = Callable[[object], object]


def _no_fetch(uri: str) -> Never:
    raise fastjsonschema.JsonSchemaDefinitionException(f"{uri} is not fetched")


NO_FETCH = dict.fromkeys(("", "file", "ftp", "http", "https"), _no_fetch)


class ArgumentsInvalid(ValueError):
    """The arguments break the schema. The message names the field and the rule."""


class ArgumentSchema:
    """The compiled schema of one tool."""

    def __init__(self, tool: Tool) -> None:
        for reference in _references(tool.parameters):
            # A remote reference would be fetched over the network when the schema is compiled.
            if not reference.startswith("#"):
                raise _invalid(tool, f"the reference {reference!r} leads outside the schema")
        try:
            self._check: Check = fastjsonschema.compile(
                dict(tool.parameters), handlers=NO_FETCH, use_default=False
            )
        except fastjsonschema.JsonSchemaDefinitionException as error:
            raise _invalid(tool, str(error)) from None

    def check(self, arguments: Mapping[str, object]) -> None:
        """Raise `ArgumentsInvalid` when a rule is broken."""
        try:
            self._check(arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            raise ArgumentsInvalid(error.message.replace("data", "arguments", 1)) from None


def _references(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _invalid(tool: Tool, rule: str) -> PlanInvalid:
    return PlanInvalid(
        where=f"plan.tools.{tool.name}.parameters",
        rule=rule,
        fix="correct the tool's schema in the deployment and render it again",
    )
