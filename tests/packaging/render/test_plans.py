"""What the request path of one place is told, and nothing else."""

from __future__ import annotations

import pytest

from model_packaging.deployment.places import Place
from model_packaging.render.plans import request_plan
from tests.packaging.deployment.builders import EXAMPLES, example, load, small
from tests.packaging.render.packages import lock_of


def plan_of(deployment, place=Place.ON_PREM):
    return request_plan(deployment, lock_of(deployment), place)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plan_holds_the_kinds_of_its_own_place_only(name):
    deployment = example(name)
    kinds = {
        place: {pool["kind"] for pool in plan_of(deployment, place)["pools"].values()}
        for place in Place
    }
    assert kinds[Place.ON_PREM] == {"vllm"}
    assert kinds[Place.AWS] <= {"sagemaker", "bedrock"}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("place", Place)
def test_a_plan_offers_no_tool_that_none_of_its_intents_offers(name, place):
    plan = plan_of(example(name), place)
    offered = {tool for intent in plan["intents"].values() for tool in intent["tools"]}
    assert set(plan["tools"]) == offered


def test_c4_tools_of_the_demo_are_unknown_to_its_aws_plan():
    plan = plan_of(example("demo"), Place.AWS)
    assert sorted(plan["intents"]) == ["market"]
    assert {tool["label"] for tool in plan["tools"].values()} == {"C1", "C2"}
    assert sorted(plan["tenants"]) == ["markets"]


def test_a_tier_keeps_its_order_of_preference():
    tiers = plan_of(example("analyst"), Place.AWS)["tiers"]
    assert tiers == {
        "small": ["endpoint_small", "bedrock_small"],
        "large": ["endpoint_large", "bedrock_large"],
    }


def test_an_engine_elsewhere_is_reached_by_tls_and_one_here_in_clear():
    urls = [r["url"] for r in plan_of(example("analyst"))["pools"]["gpu_small"]["replicas"]]
    assert urls == ["https://gpu-a.bank.example:18101", "https://gpu-b.bank.example:18101"]
    (replica,) = plan_of(example("demo"))["pools"]["gpu_small"]["replicas"]
    assert replica == {"name": "localhost", "url": "http://127.0.0.1:18101"}


def test_an_ipv6_address_is_bracketed():
    values = small()
    values["on_prem"]["hosts"]["here"]["address"] = "::1"
    (replica,) = plan_of(load(values))["pools"]["gpu"]["replicas"]
    assert replica["url"] == "http://[::1]:18101"


def test_a_plan_tells_the_weights_that_each_pool_must_serve():
    deployment = example("demo")
    digests = {key: model.weights_digest for key, model in lock_of(deployment).models.items()}
    for place, pools in ((Place.ON_PREM, "gpu"), (Place.AWS, "endpoint")):
        plan = plan_of(deployment, place)
        for model, digest in digests.items():
            assert plan["pools"][f"{pools}_{model}"]["weights_digest"] == digest


def test_a_tool_is_reached_as_its_place_reaches_it():
    deployment = example("analyst")
    transports = {
        place: plan_of(deployment, place)["tools"]["convert"]["transport"] for place in Place
    }
    assert transports == {
        Place.ON_PREM: {"kind": "http", "url": "https://market-data.bank.example/tools/convert"},
        Place.AWS: {"kind": "lambda", "function": "analyst-tool-convert"},
    }


def test_a_bedrock_pool_is_named_by_its_profile_or_model():
    values = small()
    values["pools"]["fallback"] = {"kind": "bedrock", "model_id": "a.b-v1:0", "may_hold": "C1"}
    values["tiers"]["small"].append("fallback")
    values["aws"]["bedrock_destination_regions"] = ["eu-west-3"]
    assert plan_of(load(values), Place.AWS)["pools"]["fallback"] == {
        "kind": "bedrock",
        "profile": "a.b-v1:0",
        "may_hold": "C1",
        "budgets": {"connect_ms": 1000, "first_token_ms": 5000, "gap_ms": 5000},
    }


def test_the_whole_plan_of_a_small_deployment():
    deployment = load(small())
    plan = plan_of(deployment)
    (intent,) = plan["intents"].values()
    digest = intent.pop("prompt_sha256")
    assert len(digest) == 64
    assert plan == {
        "schema": "perimeter.request_plan/1",
        "deployment": "small",
        "place": "on_prem",
        "labels": {"order": ["C1", "C2", "C3", "C4"], "unlabelled": "C4"},
        "deadline": {"default_ms": 20000, "max_ms": 60000},
        "tenants": {"desk": {"floor": "C1"}},
        "default_intent": "ask",
        "intents": {
            "ask": {
                "tier": "small",
                "reasoning": False,
                "tools": ["look"],
                "max_tokens": 128,
                "max_tool_rounds": 1,
                "temperature": 0,
                "answer": {"tier": "small", "max_tokens": 128},
                "prompt": "prompts/ask.json",
            }
        },
        "tiers": {"small": ["gpu"]},
        "pools": {
            "gpu": {
                "kind": "vllm",
                "served_name": "analyst",
                "may_hold": "C4",
                "weights_digest": lock_of(deployment).models["small"].weights_digest,
                "replicas": [{"name": "here", "url": "http://127.0.0.1:18101"}],
                "budgets": {"connect_ms": 1000, "first_token_ms": 5000, "gap_ms": 5000},
            }
        },
        "tools": {
            "look": {
                "label": "C1",
                "transport": {"kind": "http", "url": "http://127.0.0.1:18110/tools/look"},
                "time_limit_ms": 2000,
                "side_effects": False,
                "parameters": small()["tools"]["look"]["parameters"],
            }
        },
    }
