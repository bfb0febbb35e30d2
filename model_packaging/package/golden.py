"""golden.json: how a model is recognised by what it does.

Renders of fixed conversations say that a place uses this template and no other. Tool calls, which
the training run recorded in `golden_calls.json`, say what the model answers: one of them is the
canary of a roll-out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from model_packaging.errors import PackageRefused
from model_packaging.package.chat import ChatTemplate
from model_packaging.package.manifest import Chat, Hex
from model_packaging.package.refusing import refusing
from model_packaging.package.verify import strict_json

CALLS_FILE = "golden_calls.json"
_Text = Annotated[str, Field(min_length=1)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Render(_Frozen):
    """A conversation and the prompt that the template makes of it."""

    name: str = Field(description="what the conversation shows")
    messages: tuple[dict[str, Any], ...] = Field(description="as sent to the engine")
    tools: tuple[dict[str, Any], ...] = Field(description="as sent to the engine, often none")
    enable_thinking: bool | None = Field(description="null: not given to the template")
    sha256: Hex = Field(description="of the prompt's UTF-8 bytes")
    text: str = Field(description="the prompt")


class Call(_Frozen):
    """A tool call, with its arguments as values."""

    name: _Text
    arguments: dict[str, Any]


class ToolCalls(_Frozen):
    """A conversation and the calls that the model answers with at temperature 0."""

    messages: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    tools: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    calls: Annotated[tuple[Call, ...], Field(min_length=1)]


class Golden(_Frozen):
    """The whole file."""

    schema_: Literal["perimeter.golden/1"] = Field(alias="schema")
    renders: tuple[Render, ...]
    tool_calls: tuple[ToolCalls, ...]

    def to_bytes(self) -> bytes:
        """The file. Keys keep their order, since a template may print them in it."""
        value = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "get_rate",
            "description": "FX rate of a pair on a date",
            "parameters": {
                "type": "object",
                "properties": {"pair": {"type": "string"}, "date": {"type": "string"}},
                "required": ["pair", "date"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "list_desks",
            "description": "Desks in a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    },
)
_ASK: dict[str, Any] = {"role": "user", "content": "Quel est le taux EUR/USD au 2024-06-28 ?"}
_SYSTEM: dict[str, Any] = {"role": "system", "content": "You answer in one sentence."}
_CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "type": "function",
            "function": {
                "name": "get_rate",
                "arguments": {"pair": "EUR/USD", "date": "2024-06-28"},
            },
        }
    ],
}
_RESULT: dict[str, Any] = {"role": "tool", "name": "get_rate", "content": '{"rate": 1.0705}'}
_PLAIN = (("one question", (_ASK,)), ("a system message", (_SYSTEM, _ASK)))
_WITH_TOOLS = (
    ("tools offered", (_SYSTEM, _ASK)),
    ("after a tool result", (_SYSTEM, _ASK, _CALL, _RESULT)),
)


def make_golden(template: ChatTemplate, calls: Sequence[ToolCalls]) -> tuple[Golden, Chat]:
    """Render the fixed conversations; returns the file and what it shows of the template.

    Raises PackageRefused when a plain conversation fails, or when tools fail that the golden calls
    need.
    """
    try:
        offered = template.render((_SYSTEM, _ASK), tools=_TOOLS)
        renders_tools = offered != template.render((_SYSTEM, _ASK))
    except PackageRefused:
        renders_tools = False
    if calls and not renders_tools:
        raise PackageRefused(
            where="chat_template.jinja",
            rule=f"does not render tools, though {CALLS_FILE} records tool calls",
            fix="log the model with the chat template that it was trained with",
        )
    renders = [
        _render(template, name, messages, tools, thinking)
        for conversations, tools in ((_PLAIN, ()), (_WITH_TOOLS if renders_tools else (), _TOOLS))
        for name, messages in conversations
        for thinking in (None, True, False)
    ]
    for row in calls:  # they must at least be askable
        template.render(row.messages, tools=row.tools, enable_thinking=False)
    by_thinking = {render.enable_thinking: render.text for render in renders[:3]}
    golden = Golden(schema="perimeter.golden/1", renders=tuple(renders), tool_calls=tuple(calls))
    chat = Chat(
        template_sha256=template.sha256,
        renders_tools=renders_tools,
        renders_thinking=by_thinking[True] != by_thinking[False],
    )
    return golden, chat


def read_calls(raw: bytes, where: str) -> tuple[ToolCalls, ...]:
    """Parse `golden_calls.json`: a list of conversations with their calls.

    Raises PackageRefused for another shape, or a call to a tool that was not offered.
    """
    fix = f"write {CALLS_FILE} as docs/package-format.md says and log the model again"
    with refusing():
        rows = strict_json(raw, where)
    try:
        calls = TypeAdapter(tuple[ToolCalls, ...]).validate_python(rows)
    except ValidationError as invalid:
        first = invalid.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the file"
        rule = f"{field} is not as it should be: {first['msg']}"
        raise PackageRefused(where=where, rule=rule, fix=fix) from invalid
    for index, row in enumerate(calls):
        offered = {_name(tool) for tool in row.tools}
        for call in row.calls:
            if call.name not in offered:
                rule = f"row {index} calls {call.name}, which it does not offer"
                raise PackageRefused(where=where, rule=rule, fix=fix)
    return calls


def _name(tool: Mapping[str, Any]) -> Any:
    function = tool.get("function")
    return function.get("name") if isinstance(function, Mapping) else None


def _render(
    template: ChatTemplate,
    name: str,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[dict[str, Any]],
    thinking: bool | None,
) -> Render:
    text = template.render(messages, tools=tools, enable_thinking=thinking)
    return Render(
        name=name,
        messages=tuple(messages),
        tools=tuple(tools),
        enable_thinking=thinking,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        text=text,
    )
