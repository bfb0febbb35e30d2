"""Reads a rendered prompt file: the one that was hashed, defining the tools that the plan knows."""

import hashlib
from collections.abc import Callable, Mapping

from lambdas.assistant import strict_json
from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.fields import RENDER_AGAIN, Fields
from lambdas.assistant.plan import Tool
from lambdas.assistant.prompt import PromptPrefix, make_prefix

ReadPrompt = Callable[[str], bytes]


def read_prefix(
    fields: Fields,
    *,
    offered: tuple[str, ...],
    tools: Mapping[str, Tool],
    read_prompt: ReadPrompt,
) -> PromptPrefix:
    """The prefix that an intent's `fields` name by file and digest.

    Raises `PlanInvalid` when the file is another one, or its tools are not those `offered` with the
    schemas of `tools`.
    """
    name = fields.text("prompt")
    expected = fields.text("prompt_sha256")
    data = read_prompt(name)
    found = hashlib.sha256(data).hexdigest()
    if found != expected:
        raise PlanInvalid(
            where=name, rule=f"sha256 is {found}, and the plan says {expected}", fix=RENDER_AGAIN
        )
    prompt = Fields(parse_file(data, where=name), path=name)
    system, definitions = prompt.text("system"), prompt.items("tools")
    prompt.done()
    names = tuple(
        _definition(definition, path=f"{name}.tools[{index}]", tools=tools)
        for index, definition in enumerate(definitions)
    )
    if set(names) != set(offered) or len(names) != len(offered):
        raise PlanInvalid(
            where=name,
            rule=f"defines the tools {', '.join(names) or 'none'}, "
            f"and the intent offers {', '.join(offered) or 'none'}",
            fix=RENDER_AGAIN,
        )
    return make_prefix(system=system, tools=definitions, tool_names=names, source=data)


def _definition(value: object, *, path: str, tools: Mapping[str, Tool]) -> str:
    outer = Fields(value, path=path)
    kind, function = outer.text("type"), outer.nested("function")
    outer.done()
    name, parameters = function.text("name"), function.mapping("parameters")
    function.text("description")
    strict = function.flag("strict")
    function.done()
    if kind != "function" or not strict:
        raise PlanInvalid(where=path, rule="must be a strict function", fix=RENDER_AGAIN)
    if name in tools and parameters != tools[name].parameters:
        # The model would be told one schema and its calls judged by another.
        raise function.invalid("parameters", "differ from the plan's schema for this tool")
    return name


def parse_file(data: bytes, *, where: str) -> object:
    """The strict JSON in `data`. Raises `PlanInvalid` that names `where`."""
    try:
        return strict_json.parse(data)
    except strict_json.JsonRefused as error:
        raise PlanInvalid(where=where, rule=str(error), fix=RENDER_AGAIN) from None
