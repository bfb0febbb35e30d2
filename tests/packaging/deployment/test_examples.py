"""The two deployments that are shipped, and what every section promises."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from model_packaging.deployment.catalogue import sections
from model_packaging.deployment.labels import Label
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.places import Place
from tests.packaging.deployment.builders import DEPLOYMENTS, EXAMPLES, example, load, small


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_loads_and_serves_from_both_places(name):
    deployment = load_deployment(DEPLOYMENTS / f"{name}.yaml")
    assert deployment.name == name
    assert deployment.places == (Place.ON_PREM, Place.AWS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_valid_by_the_exported_json_schema(name, repository: Path):
    schema = json.loads((repository / "docs/deployment.schema.json").read_text())
    data = yaml.safe_load((DEPLOYMENTS / f"{name}.yaml").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)


def test_the_demo_serves_what_its_engines_and_tools_listen_on():
    deployment = example("demo")
    ports = {n: p.port for n, p in deployment.pools.items() if p.kind == "vllm"}
    assert ports == {"gpu_small": 18101, "gpu_large": 18102}
    assert deployment.on_prem is not None
    assert deployment.on_prem.gateway.port == 18100
    urls = {name: tool.transport.url for name, tool in deployment.tools.items()}
    assert urls == {name: f"http://127.0.0.1:18110/tools/{name}" for name in deployment.tools}


def test_the_bank_answers_every_label_on_its_hosts_and_only_c1_and_c2_on_aws():
    deployment = example("analyst")
    assert len(deployment.on_prem.hosts) == 2
    assert deployment.aws.region == "eu-west-3"
    held = {name: deployment.may_hold(name) for name in deployment.pools_in(Place.AWS)}
    assert set(held.values()) == {Label.C1, Label.C2}
    assert {deployment.may_hold(n) for n in deployment.pools_in(Place.ON_PREM)} == {Label.C4}


def test_every_field_of_every_section_is_described():
    bare = [
        f"{section.__name__}.{name}"
        for section in sections()
        for name, info in section.model_fields.items()
        if not info.description
    ]
    assert bare == []


def test_every_section_is_frozen_strict_and_closed():
    for section in sections():
        config = section.model_config
        assert (config["frozen"], config["strict"], config["extra"]) == (True, True, "forbid")


def test_a_loaded_deployment_cannot_be_changed():
    deployment = load(small())
    with pytest.raises(ValidationError, match="frozen"):
        deployment.name = "other"  # type: ignore[misc]


def test_a_name_alone_is_the_default_intent_of_every_place():
    deployment = load(small())
    assert [deployment.default_intent_in(place) for place in Place] == ["ask", "ask"]


@pytest.mark.parametrize("place", ["on_prem", "aws"])
def test_one_place_is_enough(place):
    values = small()
    other, pool = ("aws", "endpoint") if place == "on_prem" else ("on_prem", "gpu")
    del values[other], values["tenants"]["desk"][other], values["pools"][pool]
    values["tiers"]["small"].remove(pool)
    assert load(values).places == (Place(place),)
