"""Reading a file: strict YAML, and messages that name field, line, rule and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.strict_yaml import parse
from model_packaging.errors import DeploymentInvalid
from tests.packaging.deployment.builders import changed, field_of, refusal, refused, small


def test_the_whole_message_names_field_position_rule_and_fix():
    error = refusal(changed("analyst", ("sagemaker: C2", "sagemaker: C4")))
    assert str(error) == (
        "data.may_hold.sagemaker (x.yaml line 89): is C4, but data above C2 never leaves the "
        "company's own hosts\n"
        "  fix: set it to C2 or lower, and serve such data with a `vllm` pool"
    )
    assert error.exit_code == 3


def test_a_missing_file_says_what_to_give(tmp_path: Path):
    with pytest.raises(DeploymentInvalid) as caught:
        load_deployment(tmp_path / "none.yaml")
    assert caught.value.rule == "there is no such deployment file"
    assert "deployments/demo.yaml" in caught.value.fix


def test_bytes_that_are_not_text_are_refused(tmp_path: Path):
    (tmp_path / "x.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(DeploymentInvalid, match="cannot be read"):
        load_deployment(tmp_path / "x.yaml")


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "text\n"])
def test_a_file_without_sections_is_refused(text):
    assert refusal(text).rule == "holds no sections"


def test_a_key_that_occurs_twice_is_refused_with_both_lines():
    error = refusal("schema: a\nname: b\n\nname: c\n")
    assert error.rule == "says `name` twice, first on line 2"
    assert error.where == "x.yaml line 4"
    assert error.fix == "keep one of the two"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: &x 1\nb: *x\n", "uses the anchor or alias `x`"),
        ("1: a\n", "has a key that is not text"),
        ("? [a]\n: b\n", "has a key that is not text"),
        ("a: {b: c\n", "is not YAML"),
        ("a: !!python/object:os.system {}\n", "is not YAML"),
        ("a: 1\n---\nb: 2\n", "is not YAML"),
        ("a: \x01\n", "is not YAML"),
    ],
)
def test_surprising_yaml_is_refused(text, rule):
    assert refusal(text).rule.startswith(rule)


@pytest.mark.parametrize("word", ["no", "yes", "on", "off", "2026-01-01", "1_000", "0x10", "1e3"])
def test_a_word_that_older_yaml_converts_stays_text(word):
    assert parse(f"a: {word}").value == {"a": word}


def test_plain_numbers_switches_and_nothing_are_values():
    parsed = parse("{a: -1, b: 0.5, c: true, d: false, e: null, f: ~, g: }").value
    assert parsed == {"a": -1, "b": 0.5, "c": True, "d": False, "e": None, "f": None, "g": None}


def test_a_number_is_not_read_as_text():
    error = refusal(changed("analyst", ('account: "111122223333"', "account: 111122223333")))
    assert field_of(error) == "aws.account"
    assert error.rule == "input should be a valid string"
    assert error.fix.endswith("Text that looks like a number needs quotes.")


def test_text_is_not_read_as_a_number():
    error = refusal(changed("demo", ("port: 18101", 'port: "18101"')))
    assert (field_of(error), error.rule) == (
        "pools.gpu_small.port",
        "input should be a valid integer",
    )


def test_an_unknown_field_is_refused_with_a_guess():
    values = small()
    values["models"]["small"]["serving"]["max_num_seq"] = 4
    error = refused(values)
    assert field_of(error) == "models.small.serving.max_num_seq"
    assert error.rule == "is not a field of this section"
    assert error.fix.startswith("did you mean `max_num_seqs`?")


def test_a_missing_field_is_named():
    values = small()
    del values["models"]["small"]["base"]["licence"]
    error = refused(values)
    assert (field_of(error), error.rule) == (
        "models.small.base.licence",
        "is required and missing",
    )


def test_a_pool_of_unknown_kind_is_refused_with_the_kinds_there_are():
    error = refusal(changed("demo", ("kind: sagemaker", "kind: sagemakr")))
    assert field_of(error) == "pools.endpoint_small"
    assert "'vllm', 'sagemaker', 'bedrock'" in error.rule


def test_a_name_outside_the_alphabet_is_refused():
    error = refusal(changed("demo", ("  gpu_small:\n", "  GPU-Small:\n")))
    assert field_of(error) == "pools.GPU-Small"
    assert error.rule.startswith("is not a name")


def test_every_problem_is_listed_not_only_the_first():
    values = small()
    values["models"]["small"]["base"]["licence"] = ""
    values["pools"]["gpu"]["port"] = 80
    values["nonsense"] = 1
    message = str(refused(values))
    assert "models.small.base.licence" in message
    assert "also pools.gpu.port" in message
    assert "also nonsense" in message


def test_the_schema_of_another_major_version_is_refused():
    error = refusal(changed("demo", ("perimeter.deployment/1", "perimeter.deployment/2")))
    assert field_of(error) == "schema"
    assert "'perimeter.deployment/1'" in error.rule
