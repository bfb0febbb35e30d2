"""One list of engine arguments, written for two readers."""

from __future__ import annotations

import json

import pytest
import yaml

from model_packaging.deployment.places import Place
from model_packaging.errors import DeploymentInvalid
from model_packaging.render.arguments import EngineArgument, engine_arguments
from model_packaging.render.container_environment import QUIET, container_environment
from model_packaging.render.serve_yaml import serve_arguments, serve_yaml
from tests.packaging.deployment.builders import example, load, small


def with_serving(**settings):
    values = small()
    values["models"]["small"]["serving"].update(settings)
    return load(values)


def on_prem(deployment):
    return yaml.safe_load(serve_yaml(engine_arguments(deployment, "small", Place.ON_PREM)))


def aws(deployment):
    arguments = engine_arguments(deployment, "small", Place.AWS)
    return container_environment(arguments, where="models.small.serving")


def test_every_rule_of_the_engine_is_in_the_rendered_file():
    found = on_prem(example("demo"))
    assert found["load-format"] == "safetensors"
    assert found["tool-call-parser"] == "hermes"
    assert found["reasoning-parser"] == "qwen3"
    assert found["enable-auto-tool-choice"] is True
    assert found["default-chat-template-kwargs"] == {"enable_thinking": False}
    assert found["structured-outputs-config"] == {
        "backend": "xgrammar",
        "disable_any_whitespace": True,
    }
    assert found["enable-prefix-caching"] is True
    assert found["enable-prompt-tokens-details"] is True
    assert found["disable-access-log-for-endpoints"] == "/health,/metrics,/ping"
    assert found["disable-fastapi-docs"] is True
    assert found["max-num-queued-reqs"] == 32
    assert found["host"] == "127.0.0.1"
    assert found["shutdown-timeout"] == 10
    assert "tool-strict-level" not in found  # vLLM 0.30 does not know it


def test_the_container_gets_the_same_and_keeps_quiet():
    found = aws(example("demo"))
    assert QUIET.items() <= found.items()
    assert found["SM_VLLM_LOAD_FORMAT"] == "safetensors"
    assert found["SM_VLLM_DEFAULT_CHAT_TEMPLATE_KWARGS"] == '{"enable_thinking": false}'
    assert found["SM_VLLM_SERVED_MODEL_NAME"] == "analyst-small"
    assert list(found) == sorted(found)
    unwanted = {"SM_VLLM_HOST", "SM_VLLM_PORT", "SM_VLLM_MODEL", "SM_VLLM_SHUTDOWN_TIMEOUT"}
    assert not unwanted & set(found)


def test_neither_place_is_told_a_key():
    assert "api-key" not in on_prem(example("demo"))
    assert "SM_VLLM_API_KEY" not in aws(example("demo"))


def test_what_is_off_is_written_as_its_negation_in_both_places():
    deployment = with_serving(enable_prefix_caching=False)
    assert on_prem(deployment)["no-enable-prefix-caching"] is True
    assert aws(deployment)["SM_VLLM_NO_ENABLE_PREFIX_CACHING"] == "true"
    assert "enable-prefix-caching" not in on_prem(deployment)
    assert "SM_VLLM_ENABLE_PREFIX_CACHING" not in aws(deployment)


def test_a_model_without_tools_or_reasoning_gets_no_parser():
    values = small()
    values["models"]["small"]["serving"].update(tool_call_parser=None, reasoning_parser=None)
    values["intents"]["ask"]["tools"] = []
    found = on_prem(load(values))
    absent = {"tool-call-parser", "reasoning-parser", "enable-auto-tool-choice"}
    assert not absent & set(found)


def test_an_override_replaces_the_common_value_in_its_place_only():
    deployment = with_serving(
        gpu_memory_utilization=0.8, engine_overrides={"aws": {"gpu_memory_utilization": 0.9}}
    )
    assert on_prem(deployment)["gpu-memory-utilization"] == 0.8
    assert aws(deployment)["SM_VLLM_GPU_MEMORY_UTILIZATION"] == "0.9"


def test_every_argument_says_where_it_comes_from():
    arguments = engine_arguments(example("demo"), "small", Place.ON_PREM)
    assert [a.name for a in arguments] == sorted({a.name for a in arguments})
    assert {a.origin for a in arguments} == {"deployment", "rule", "place", "override"}
    assert all(a.reason for a in arguments)


def test_adapters_are_read_from_the_models_own_folder():
    deployment = with_serving(lora={"adapters": ["memo", "fr"], "max_rank": 32})
    found = on_prem(deployment)
    root = "/var/lib/perimeter/models/current/small/model"
    assert found["lora-modules"] == [f"fr={root}/adapters/fr", f"memo={root}/adapters/memo"]
    assert found["max-lora-rank"] == 32
    assert json.loads(aws(deployment)["SM_VLLM_LORA_MODULES"]) == [
        "fr=/opt/ml/model/adapters/fr",
        "memo=/opt/ml/model/adapters/memo",
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a: true", ("--a",)),
        ("a: false", ()),
        ("a: [x, 1]", ("--a", "x", "1")),
        ("a: []", ()),
        ("a: {b: false}", ("--a", '{"b": false}')),
        ("a: 0.9", ("--a", "0.9")),
        ("a: text", ("--a", "text")),
    ],
)
def test_a_file_expands_as_vllm_expands_it(text, tokens):
    assert serve_arguments(text.encode()) == tokens


def argument(value: object) -> EngineArgument:
    return EngineArgument("x", value, "deployment", "a test")  # type: ignore[arg-type]


def test_a_value_longer_than_sagemaker_takes_is_refused():
    container_environment([argument("a" * 1024)], where="here")
    with pytest.raises(DeploymentInvalid) as caught:
        container_environment([argument("é" * 513)], where="here")
    assert str(caught.value) == (
        "here: SM_VLLM_X would be 1026 bytes long; SageMaker takes 1024\n"
        "  fix: shorten the setting; something this long belongs in the model's directory"
    )


def test_more_variables_than_sagemaker_takes_are_refused():
    many = [EngineArgument(f"x{n}", n, "deployment", "a test") for n in range(100)]
    with pytest.raises(DeploymentInvalid, match="would need 106 variables; SageMaker takes 100"):
        container_environment(many, where="here")


def test_more_bytes_than_sagemaker_takes_are_refused():
    large = [EngineArgument(f"x{n}", "a" * 1000, "deployment", "a test") for n in range(40)]
    with pytest.raises(DeploymentInvalid, match="SageMaker takes 32768"):
        container_environment(large, where="here")
