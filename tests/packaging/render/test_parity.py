"""Both places start the engine with the same arguments, but for what is written down."""

from __future__ import annotations

import pytest

from model_packaging.render import parity
from model_packaging.render.arguments import engine_arguments
from model_packaging.render.parity import ALLOWED, differences, unexplained
from tests.packaging.deployment.builders import EXAMPLES, example, load, small

MODELS = [(name, model) for name in EXAMPLES for model in ("small", "large")]


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_every_difference_between_the_places_has_a_written_reason(name, model):
    assert unexplained(differences(example(name), model)) == ()


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_what_differs_is_exactly_the_allow_list_and_the_overrides(name, model):
    overrides = {"demo": {"enforce-eager"}, "analyst": {"gpu-memory-utilization"}}[name]
    found = {difference.name for difference in differences(example(name), model)}
    assert found == {"host", "middleware", "model", "port", "shutdown-timeout"} | overrides


def test_nothing_a_model_reads_or_writes_is_on_the_allow_list():
    assert set(ALLOWED) == {
        "host",
        "port",
        "model",
        "api-key",
        "shutdown-timeout",
        "otlp-traces-endpoint",
        "middleware",
    }


def test_an_override_is_named_as_the_reason():
    found = {d.name: d for d in differences(example("analyst"), "small")}
    assert found["gpu-memory-utilization"].on_prem == ("0.35",)
    assert found["gpu-memory-utilization"].aws == ("0.9",)
    assert found["gpu-memory-utilization"].reason == (
        "models.small.serving.engine_overrides.on_prem, models.small.serving.engine_overrides.aws"
    )


def test_an_override_that_switches_off_is_explained_too():
    values = small()
    values["models"]["small"]["serving"]["engine_overrides"] = {
        "on_prem": {"enable_prefix_caching": False}
    }
    found = {d.name: d for d in differences(load(values), "small")}
    assert found["no-enable-prefix-caching"].reason is not None
    assert found["enable-prefix-caching"].reason is not None


def test_adapters_are_the_same_wherever_the_model_lies():
    values = small()
    values["models"]["small"]["serving"]["lora"] = {"adapters": ["memo"]}
    names = {difference.name for difference in differences(load(values), "small")}
    assert "lora-modules" not in names


def test_a_list_is_not_the_same_in_a_container_that_does_not_split_it():
    values = small()
    serving = values["models"]["small"]["serving"]
    serving["lora"] = {"adapters": ["fr", "memo"]}
    serving["engine"] = {"version": "0.27.0"}
    assert values["aws"].get("container_release") is None
    found = unexplained(differences(load(values), "small"))
    assert [difference.name for difference in found] == ["lora-modules"]


def test_a_difference_without_a_reason_is_found(monkeypatch):
    def forgetful(deployment, model, place):
        arguments = engine_arguments(deployment, model, place)
        return tuple(a for a in arguments if place == "aws" or a.name != "load-format")

    monkeypatch.setattr(parity, "engine_arguments", forgetful)
    (found,) = unexplained(differences(load(small()), "small"))
    assert (found.name, found.on_prem, found.aws) == ("load-format", None, ("safetensors",))
