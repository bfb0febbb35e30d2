"""golden.json: what the template makes of fixed conversations, and what the model did."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package.chat import ChatTemplate
from model_packaging.package.golden import Golden, make_golden, read_calls
from tests.packaging.packages import build, traces
from tests.packaging.tiny_model import TEMPLATE, write_json

TOOL = {"type": "function", "function": {"name": "get_rate", "parameters": {"type": "object"}}}
ROW: dict[str, Any] = {
    "messages": [{"role": "user", "content": "EUR/USD?"}],
    "tools": [TOOL],
    "calls": [{"name": "get_rate", "arguments": {"pair": "EUR/USD"}}],
}


def template(source: str = TEMPLATE) -> ChatTemplate:
    return ChatTemplate(source, special_tokens={})


def refusal(rows: object) -> str:
    with pytest.raises(PackageRefused) as caught:
        read_calls(json.dumps(rows).encode(), "extra_files/golden_calls.json")
    return str(caught.value)


def test_each_conversation_is_rendered_with_thinking_unset_on_and_off():
    golden, found = make_golden(template(), ())
    assert [(render.name, render.enable_thinking) for render in golden.renders] == [
        (name, thinking)
        for name in ("one question", "a system message", "tools offered", "after a tool result")
        for thinking in (None, True, False)
    ]
    assert found.renders_tools
    assert found.renders_thinking
    assert found.template_sha256 == hashlib.sha256(TEMPLATE.encode()).hexdigest()


def test_a_render_carries_the_digest_of_its_text():
    golden, _ = make_golden(template(), ())
    for render in golden.renders:
        assert render.sha256 == hashlib.sha256(render.text.encode()).hexdigest()
    assert '"rate": 1.0705' in golden.renders[-1].text
    assert "taux" in golden.renders[-1].text


def test_a_template_without_tools_is_rendered_without_them():
    golden, found = make_golden(template("{{ messages[-1].content }}"), ())
    assert not found.renders_tools
    assert not found.renders_thinking
    assert {render.name for render in golden.renders} == {"one question", "a system message"}


def test_a_template_that_fails_on_tools_only_is_one_without_tools():
    source = "{% if tools %}{{ raise_exception('no') }}{% endif %}{{ messages[-1].content }}"
    _, found = make_golden(template(source), ())
    assert not found.renders_tools


def test_tool_calls_need_a_template_that_renders_tools():
    calls = read_calls(json.dumps([ROW]).encode(), "golden_calls.json")
    with pytest.raises(PackageRefused, match="does not render tools, though"):
        make_golden(template("{{ messages[-1].content }}"), calls)


def test_golden_calls_go_into_the_package(model, store):
    write_json(model / "golden_calls.json", [ROW])
    build(model, store)
    package = store.package_directory(name="analyst", version="3")
    golden = Golden.model_validate_json((package / "golden.json").read_bytes())
    assert golden.model_dump(mode="json")["tool_calls"] == [ROW]


def test_the_order_of_parameters_survives(model, store):
    properties = {"to": {"type": "string"}, "amount": {"type": "number"}}
    function = {"name": "get_rate", "parameters": {"type": "object", "properties": properties}}
    tools = [{"type": "function", "function": function}]
    write_json(model / "golden_calls.json", [ROW | {"tools": tools}])
    build(model, store)
    package = store.package_directory(name="analyst", version="3")
    kept = json.loads((package / "golden.json").read_text())["tool_calls"][0]["tools"][0]
    assert list(kept["function"]["parameters"]["properties"]) == ["to", "amount"]


def test_golden_calls_may_be_logged_in_one_place_only(model, store):
    write_json(model / "golden_calls.json", [ROW])
    (model / "extra_files").mkdir()
    write_json(model / "extra_files" / "golden_calls.json", [ROW])
    with pytest.raises(PackageRefused, match="is there twice"):
        build(model, store)
    assert traces(store) == []


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ({"tool_calls": []}, "the file is not as it should be"),
        ([ROW | {"calls": []}], "0.calls is not as it should be"),
        ([ROW | {"messages": []}], "0.messages is not as it should be"),
        ([ROW, {"messages": ROW["messages"]}], "1.tools is not as it should be: Field required"),
        ([ROW | {"note": "x"}], "0.note is not as it should be: Extra inputs are not permitted"),
        (
            [ROW | {"calls": [{"name": "get_rate", "arguments": "{}"}]}],
            "0.calls.0.arguments is not as it should be",
        ),
        (
            [ROW | {"calls": [{"name": "get_limit", "arguments": {}}]}],
            "row 0 calls get_limit, which it does not offer",
        ),
    ],
)
def test_golden_calls_of_another_shape_are_refused(rows, rule):
    assert refusal(rows).startswith(f"extra_files/golden_calls.json: {rule}")
    assert "docs/package-format.md" in refusal(rows)
