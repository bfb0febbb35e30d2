"""Whatever labels a deployment carries: if it loads, its plans keep what the labels promise."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.labels import ORDER
from model_packaging.deployment.loading import parse_deployment
from model_packaging.errors import DeploymentInvalid
from model_packaging.render.plans import request_plan
from tests.packaging.deployment.builders import small
from tests.packaging.render.packages import lock_of

RANK = {label: rank for rank, label in enumerate(ORDER)}
POOLS = ("gpu", "gpu_b", "endpoint", "fallback")
labels = st.sampled_from(ORDER)
public = st.sampled_from(("C1", "C1", "C2"))
places = st.sampled_from((None, ["on_prem"], ["on_prem"], ["aws"], ["on_prem", "aws"]))
tier_names = st.sampled_from(("small", "large"))


def up_to(label: str) -> st.SearchStrategy[str | None]:
    return st.sampled_from((None, None, *ORDER[: RANK[label] + 1]))


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    """A small deployment with its labels, ceilings, tiers, identities and places drawn.

    About one in six loads: most draws keep to the rules, and one label at the end keeps to none.
    """
    values = small()
    values["on_prem"]["hosts"]["there"] = {"address": "127.0.0.2"}
    values["pools"]["gpu"]["hosts"] = ["here"]
    values["pools"]["gpu_b"] = {**values["pools"]["gpu"], "hosts": ["there"]}
    values["pools"]["fallback"] = {"kind": "bedrock", "model_id": "a.b-v1:0"}
    values["aws"]["bedrock_destination_regions"] = ["eu-west-3"]
    ceilings = {
        "vllm": draw(st.sampled_from(("C2", "C3", "C4", "C4"))),
        "sagemaker": draw(public),
        "bedrock": draw(public),
    }
    values["data"] = {"unlabelled": draw(labels), "may_hold": ceilings}
    for pool in values["pools"].values():
        pool["may_hold"] = draw(up_to(ceilings[pool["kind"]]))
    mixed = st.permutations(POOLS)
    values["tiers"] = {
        "small": list(draw(mixed)),
        "large": [p for p in draw(mixed) if draw(st.booleans())] or ["gpu", "endpoint"],
    }
    values["tools"]["deep"] = {**values["tools"]["look"], "label": draw(labels)}
    values["tools"]["look"]["label"] = draw(public)
    for name in ("ask", "write"):
        deep = draw(st.sampled_from(((), (), ("deep",))))
        values["intents"][name] = {
            **values["intents"]["ask"],
            "tier": draw(tier_names),
            "answer": {"tier": draw(tier_names), "max_tokens": 16},
            "tools": ["look", *deep],
            "places": draw(places),
        }
    values["default_intent"] = {
        place: next(
            (n for n, i in values["intents"].items() if place in (i["places"] or [place])), "ask"
        )
        for place in ("on_prem", "aws")
    }
    desk = values["tenants"]["desk"]
    values["tenants"] = {
        "inside": {"floor": draw(st.sampled_from(("C1", "C2", "C3"))), "on_prem": desk["on_prem"]},
        "outside": {"floor": draw(public), "aws": desk["aws"]},
    }
    _break_one(draw, values)
    return values


def _break_one(draw: st.DrawFn, values: dict[str, Any]) -> None:
    """Perhaps set one label to anything, the place for it included."""
    targets = (
        values["data"]["may_hold"],
        *values["pools"].values(),
        *values["tools"].values(),
        *values["tenants"].values(),
    )
    section = draw(st.sampled_from((None, None, *targets)))
    if section is not None:
        keys = [key for key in section if key in ("may_hold", "label", "floor", "sagemaker")]
        section[draw(st.sampled_from(keys))] = draw(labels)


def pools_for(plan: dict[str, Any], tier: str, label: str) -> list[str]:
    """What the request path does with a label: leave out the pools that may not hold it."""
    return [p for p in plan["tiers"][tier] if RANK[label] <= RANK[plan["pools"][p]["may_hold"]]]


def check(values: dict[str, Any], deployment: Deployment) -> None:
    for place in deployment.places:
        plan = request_plan(deployment, lock_of(deployment), place)
        for name, pool in plan["pools"].items():
            declared = values["pools"][name]
            ceiling = values["data"]["may_hold"][pool["kind"]]
            assert pool["kind"] in (("vllm",) if place == "on_prem" else ("sagemaker", "bedrock"))
            assert RANK[pool["may_hold"]] <= RANK[ceiling]
            assert RANK[pool["may_hold"]] <= RANK[declared["may_hold"] or "C4"]
            assert place == "on_prem" or RANK[pool["may_hold"]] <= RANK["C2"]
        for intent in plan["intents"].values():
            steps = (intent["tier"], intent["answer"]["tier"])
            floors = [tenant["floor"] for tenant in plan["tenants"].values()]
            results = [plan["tools"][tool]["label"] for tool in intent["tools"]]
            for label in (*floors, *results):
                assert all(pools_for(plan, tier, label) for tier in steps)
            for label in ORDER:
                for tier in steps:
                    held = [plan["pools"][p]["may_hold"] for p in pools_for(plan, tier, label)]
                    assert all(RANK[label] <= RANK[may_hold] for may_hold in held)
        assert plan["default_intent"] in plan["intents"]
        assert {p for pools in plan["tiers"].values() for p in pools} == set(plan["pools"])


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(deployments())
def test_a_deployment_that_loads_sends_no_label_to_a_pool_that_may_not_hold_it(values):
    try:
        deployment = parse_deployment(json.dumps(values), name="drawn")
    except DeploymentInvalid as error:
        assert error.rule
        assert error.fix
        return
    check(values, deployment)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(label=st.sampled_from(["C3", "C4"]), values=deployments())
def test_no_drawn_deployment_with_confidential_data_outside_loads(label, values):
    values["data"]["may_hold"]["bedrock"] = label
    try:
        parse_deployment(json.dumps(values), name="drawn")
    except DeploymentInvalid as error:
        assert "data.may_hold.bedrock" in str(error)
    else:
        raise AssertionError("it loaded")
