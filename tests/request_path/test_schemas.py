import dataclasses

import pytest

from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.schemas import ArgumentSchema, ArgumentsInvalid
from tests.request_path.plans import make_plan

TOOL = make_plan().tools["get_limit"]


def schema(parameters):
    return ArgumentSchema(dataclasses.replace(TOOL, parameters=parameters))


def test_arguments_that_fit_pass():
    ArgumentSchema(TOOL).check({"counterparty": "Nordbank", "product": "swap"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"product": "swap"}, "arguments must contain ['counterparty'] properties"),
        ({"counterparty": 5, "product": "swap"}, "arguments.counterparty must be string"),
        (
            {"counterparty": "N", "product": "gold"},
            "arguments.product must be one of ['swap', 'repo', 'loan']",
        ),
    ],
)
def test_the_message_names_the_field_and_the_rule(arguments, message):
    with pytest.raises(ArgumentsInvalid) as invalid:
        ArgumentSchema(TOOL).check(arguments)
    assert str(invalid.value) == message


def test_an_extra_argument_is_refused_where_the_schema_is_closed():
    with pytest.raises(ArgumentsInvalid, match="must not contain"):
        ArgumentSchema(TOOL).check({"counterparty": "N", "product": "swap", "sudo": True})


def test_a_default_is_not_filled_in_behind_the_models_back():
    arguments: dict[str, object] = {}
    schema({"type": "object", "properties": {"days": {"default": 7}}}).check(arguments)
    assert arguments == {}


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/x.json", "file:///etc/passwd", "x.json"])
def test_a_schema_that_refers_outside_itself_is_refused_at_start(target):
    with pytest.raises(PlanInvalid) as invalid:
        schema({"type": "object", "properties": {"a": {"$ref": target}}})
    assert str(invalid.value) == (
        f"plan.tools.get_limit.parameters: the reference {target!r} leads outside the schema\n"
        "  fix: correct the tool's schema in the deployment and render it again"
    )


def test_a_reference_inside_the_schema_works():
    parameters = {
        "type": "object",
        "$defs": {"code": {"type": "string", "maxLength": 3}},
        "properties": {"currency": {"$ref": "#/$defs/code"}},
    }
    with pytest.raises(ArgumentsInvalid):
        schema(parameters).check({"currency": "EURO"})


def test_a_schema_that_is_no_schema_is_refused_at_start():
    with pytest.raises(PlanInvalid, match=r"plan\.tools\.get_limit\.parameters"):
        schema({"type": "object", "properties": {"a": {"type": "strange"}}})
