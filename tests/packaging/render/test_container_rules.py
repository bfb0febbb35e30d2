"""How AWS's container reads SM_VLLM_*: vectors read off the container's own entry point."""

from __future__ import annotations

import pytest

from model_packaging.render.container_rules import container_arguments, rules_of

START = ("--port", "8080", "--model", "/opt/ml/model")
END = ("--middleware", "sagemaker_serve.SageMakerRouteMiddleware")


def translated(release: str = "2.5", **environment: str) -> tuple[str, ...]:
    """The tokens that an environment adds; names are given without SM_VLLM_."""
    variables = {f"SM_VLLM_{name}": value for name, value in environment.items()}
    found = container_arguments(variables, rules=rules_of(release))
    assert found[: len(START)] == START
    assert found[-len(END) :] == END
    return found[len(START) : -len(END)]


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("4096", ("--x-y", "4096")),
        ("true", ("--x-y",)),
        ("TRUE", ("--x-y",)),
        (" true ", ("--x-y",)),
        ("false", ()),
        ("False", ()),
        ("", ("--x-y",)),
        ("a b", ("--x-y", "a b")),
        ('["a","b c"]', ("--x-y", "a", "b c")),
        ("[1, true, false, null]", ("--x-y", "1", "true", "false", "")),
        ('[{"a": 1}]', ("--x-y", '{"a":1}')),
        ("[]", ()),
        ("[not json]", ("--x-y", "[not json]")),
        ('{"a":  1}', ("--x-y", '{"a":  1}')),
        ('{"a": 1} {"b": 2}', ("--x-y", '{"a":1}', '{"b":2}')),
        ("{% for m in messages %}", ("--x-y", "{% for m in messages %}")),
    ],
)
def test_a_value_becomes_the_tokens_that_the_container_makes_of_it(value, tokens):
    assert translated(X_Y=value) == tokens


def test_a_false_drops_a_flag_and_only_its_negation_switches_it_off():
    assert translated(ENABLE_PREFIX_CACHING="false") == ()
    assert translated(NO_ENABLE_PREFIX_CACHING="true") == ("--no-enable-prefix-caching",)


def test_arrays_are_one_token_before_release_2_4():
    assert translated("2.3", LORA_MODULES='["a","b"]') == ("--lora-modules", '["a","b"]')
    assert translated("2.4", LORA_MODULES='["a","b"]') == ("--lora-modules", "a", "b")
    assert translated("2.10", LORA_MODULES='["a","b"]') == ("--lora-modules", "a", "b")


@pytest.mark.parametrize(
    "name", ["ALLOWED_ORIGINS", "ALLOWED_METHODS", "ALLOWED_HEADERS", "MIDDLEWARE"]
)
def test_a_flag_whose_value_is_an_array_keeps_it_in_one_token(name):
    flag = "--" + name.lower().replace("_", "-")
    assert translated(**{name: '["*"]'}) == (flag, '["*"]')


def test_flags_are_sorted_and_other_variables_are_left_alone():
    environment = {"SM_VLLM_B": "2", "HF_HUB_OFFLINE": "1", "SM_VLLM_A": "1"}
    found = container_arguments(environment, rules=rules_of("2.5"))
    assert found == (*START, "--a", "1", "--b", "2", *END)


def test_a_named_model_wins_over_the_models_folder():
    found = container_arguments({"SM_VLLM_MODEL": "/x"}, rules=rules_of("2.5"))
    assert found == ("--port", "8080", "--model", "/x", *END)
