"""The rendered arguments, read by the real vLLM of the tested version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from model_packaging.deployment.overrides import OVERRIDABLE
from model_packaging.deployment.places import Place
from model_packaging.render.parity import ALLOWED, arguments_in
from tests.packaging.deployment.builders import EXAMPLES, example, load, small
from tests.packaging.render.golden import rendered_example

pytestmark = pytest.mark.engine

MODELS = [(name, model) for name in EXAMPLES for model in ("small", "large")]
OFF = "prefix caching off"


def deployment_with_a_flag_off():
    values = small()
    values["models"]["small"]["serving"]["enable_prefix_caching"] = False
    return load(values)


@pytest.fixture(scope="module")
def parsed(engine_python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What vLLM makes of every rendered file and environment; one process, since its import is
    slow.
    """
    folder = tmp_path_factory.mktemp("serve")
    question: dict[str, dict[str, Any]] = {"serve": {}, "container": {}}
    for name, model in MODELS:
        file = folder / f"{name}-{model}.yaml"
        file.write_bytes(rendered_example(name)[f"on_prem/serve/{model}.yaml"])
        question["serve"][f"{name} {model}"] = str(file)
        question["container"][f"{name} {model}"] = arguments_in(example(name), model, Place.AWS)
    silent = folder / "silent.yaml"
    silent.write_text("model: x\nenable-prefix-caching: false\n")
    question["serve"]["silent"] = str(silent)
    off = deployment_with_a_flag_off()
    question["container"][OFF] = arguments_in(off, "small", Place.AWS)
    question["container"][f"{OFF} on_prem"] = arguments_in(off, "small", Place.ON_PREM)
    done = subprocess.run(
        [str(engine_python), str(Path(__file__).with_name("vllm_parser.py"))],
        input=json.dumps(question),
        env={"PATH": "/usr/bin:/bin", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_vllm_reads_the_same_from_both_places_but_for_the_allow_list(parsed, name, model):
    on_prem = parsed["serve"][f"{name} {model}"]
    aws = parsed["container"][f"{name} {model}"]
    overrides = example(name).models[model].serving.engine_overrides
    allowed = {flag.replace("-", "_") for flag in ALLOWED}
    allowed |= {argument for place in Place for argument in overrides.of(place)}
    assert on_prem.keys() == aws.keys()
    assert {key for key in aws if on_prem[key] != aws[key]} <= allowed


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_vllm_understands_what_was_meant(parsed, name, model):
    serving = example(name).models[model].serving
    for found in (parsed["serve"][f"{name} {model}"], parsed["container"][f"{name} {model}"]):
        assert found["served_model_name"] == [serving.served_name]
        assert found["max_model_len"] == serving.max_model_len
        assert found["max_num_queued_reqs"] == serving.max_num_queued_reqs
        assert found["load_format"] == "safetensors"
        assert found["default_chat_template_kwargs"] == {"enable_thinking": False}
        assert found["enable_auto_tool_choice"] is True
        assert found["enable_prefix_caching"] is True
        assert found["trust_remote_code"] is False
        assert found["enable_log_requests"] is False
        assert found["api_key"] is None
    assert parsed["serve"][f"{name} {model}"]["host"] == "127.0.0.1"
    assert parsed["serve"][f"{name} {model}"]["shutdown_timeout"] == (
        serving.shutdown_timeout_seconds
    )


def test_a_false_in_the_file_would_be_dropped_without_a_word(parsed):
    """Why a flag that is off is rendered as its negation."""
    assert parsed["serve"]["silent"]["enable_prefix_caching"] is None


def test_the_negation_switches_a_flag_off_in_both_places(parsed):
    assert parsed["container"][OFF]["enable_prefix_caching"] is False
    assert parsed["container"][f"{OFF} on_prem"]["enable_prefix_caching"] is False


def test_vllm_knows_every_argument_that_may_be_overridden(parsed):
    unknown = {name for name in OVERRIDABLE if f"--{name.replace('_', '-')}" not in parsed["flags"]}
    assert unknown == set()


def test_every_flag_that_may_be_overridden_has_a_negation(parsed):
    switches = {name for name, kind in OVERRIDABLE.items() if kind == "true or false"}
    bare = {n for n in switches if f"--no-{n.replace('_', '-')}" not in parsed["flags"]}
    assert bare == set()
