"""The seam between rendering and serving: what is rendered is what the request path reads."""

import json
from pathlib import Path

import pytest

from lambdas.assistant.plan_reading import read_plan
from lambdas.assistant.schemas import ArgumentSchema
from lambdas.gateway.app import addresses
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.places import Place
from model_packaging.render.rendering import render
from tests.packaging.render.packages import lock_of, manifests_of

DEPLOYMENTS = sorted((Path(__file__).resolve().parents[2] / "deployments").glob("*.yaml"))


@pytest.fixture(params=DEPLOYMENTS, ids=lambda path: path.stem)
def deployment(request):
    return load_deployment(request.param)


@pytest.fixture
def rendered(deployment, tmp_path):
    """The rendered folder of a deployment, as it is written to a host."""
    for name, data in render(deployment, lock_of(deployment), manifests_of(deployment)).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("place", ["on_prem", "aws"])
def test_every_rendered_plan_is_read_whole(deployment, rendered, place):
    plan = read_plan(rendered / place / "request_plan.json")
    assert (plan.deployment, plan.place) == (deployment.name, place)
    assert set(plan.intents) == set(deployment.intents_in(Place(place)))
    assert set(plan.pools) == set(deployment.pools_in(Place(place)))
    for name, pool in plan.pools.items():
        assert pool.may_hold == deployment.may_hold(name)
    for name, intent in plan.intents.items():
        assert intent.prefix.system == deployment.intents[name].system
        assert set(intent.prefix.tool_names) == set(deployment.intents[name].tools)


@pytest.mark.parametrize("place", ["on_prem", "aws"])
def test_every_schema_of_a_rendered_plan_can_judge_a_call(rendered, place):
    for tool in read_plan(rendered / place / "request_plan.json").tools.values():
        assert ArgumentSchema(tool)


def test_a_gateway_can_reach_every_part_of_a_rendered_on_prem_plan(rendered):
    plan = read_plan(rendered / "on_prem" / "request_plan.json")
    assert all(url.startswith(("http://", "https://")) for url in addresses(plan))


def test_the_tools_a_model_is_told_keep_the_order_in_which_their_parameters_were_declared(
    deployment, rendered
):
    plan = read_plan(rendered / "on_prem" / "request_plan.json")
    for intent in plan.intents.values():
        for definition in json.loads(intent.prefix.tools_json or "[]"):
            function = definition["function"]
            declared = deployment.tools[function["name"]].parameters["properties"]
            assert list(function["parameters"]["properties"]) == list(declared)
