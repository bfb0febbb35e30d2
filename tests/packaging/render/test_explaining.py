"""`package-model explain`: the same facts as text and as data."""

from __future__ import annotations

import json

import pytest

from model_packaging.render.explaining import explain
from tests.packaging.deployment.builders import EXAMPLES, example, load, small
from tests.packaging.render.packages import lock_of


def test_it_says_who_may_hold_what():
    text = explain(example("analyst")).text
    assert "  on_prem  gpu_small            up to C4  vllm, small\n" in text
    assert (
        "  aws      bedrock_small        up to C1  bedrock, "
        "eu.anthropic.claude-haiku-4-5-20251001-v1:0\n"
    ) in text
    assert "  tenant   treasury             from C4   in on_prem\n" in text


def test_it_says_where_each_label_may_go():
    text = explain(example("analyst")).text
    wanted = """\
  aws market (default)
    tools: convert C1, get_news C1, get_rate C1
    C1: tools picked by endpoint_small, bedrock_small; answered by endpoint_small, bedrock_small
    C2: tools picked by endpoint_small; answered by endpoint_small
    C3: refused
    C4: refused
"""
    assert wanted in text


def test_it_says_what_happens_to_a_request_without_a_label():
    notes = explain(example("demo")).data["notes"]
    assert notes == [
        "in aws, a request that declares no label is refused: it counts as C4, and no pool there "
        "may hold that"
    ]


def test_it_warns_where_silence_counts_as_less_than_c4():
    values = small()
    values["data"] = {"unlabelled": "C1"}
    (note,) = explain(load(values)).data["notes"]
    assert note.startswith("data.unlabelled is C1: a caller that declares nothing may be sending")


def test_it_warns_where_the_places_run_different_engines():
    values = small()
    values["models"]["small"]["serving"]["engine"]["version_overrides"] = {"on_prem": "0.32.0"}
    notes = explain(load(values)).data["notes"]
    assert any(
        note.startswith("models.small runs vLLM 0.32.0 in on_prem, 0.30.0 in aws") for note in notes
    )


def test_it_shows_the_arguments_of_both_places_and_every_difference_with_its_reason():
    explanation = explain(example("demo"))
    assert "  on_prem small (vLLM 0.30.0)\n" in explanation.text
    assert "  aws small (vLLM 0.30.0, AWS image 2.5)\n" in explanation.text
    assert "    --served-model-name analyst-small\n" in explanation.text
    parity = explanation.data["parity"]["small"]
    assert parity["same"] is True
    assert all(difference["reason"] for difference in parity["differences"])
    assert (
        "    port: on_prem 18101, aws 8080\n"
        "      the container's port is fixed at 8080; a host's port belongs to the pool\n"
    ) in explanation.text


def test_with_a_lock_it_names_the_packages():
    deployment = example("demo")
    lock = lock_of(deployment)
    text = explain(deployment, lock).text
    assert "  small: analyst-small 3\n" in text
    assert lock.models["small"].weights_digest in text
    assert explain(deployment).data["packages"] == {}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_data_is_json(name):
    deployment = example(name)
    data = explain(deployment, lock_of(deployment)).data
    assert json.loads(json.dumps(data))["deployment"] == name


def test_a_deployment_of_one_place_has_nothing_to_compare():
    values = small()
    del values["aws"], values["tenants"]["desk"]["aws"], values["pools"]["endpoint"]
    values["tiers"]["small"] = ["gpu"]
    explanation = explain(load(values))
    assert explanation.data["parity"] == {}
    assert explanation.text.endswith("  no model is served in both\n")
