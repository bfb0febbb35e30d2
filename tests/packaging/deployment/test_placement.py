"""A place is only asked for what it can do."""

from __future__ import annotations

import pytest

from model_packaging.deployment.places import Place
from tests.packaging.deployment.builders import changed, field_of, load, refusal, refused, small


def test_a_deployment_is_somewhere():
    values = small()
    del values["on_prem"], values["aws"]
    error = refused(values)
    assert (field_of(error), error.rule) == (
        "on_prem",
        "is missing, and so is `aws`: the deployment is nowhere",
    )


@pytest.mark.parametrize(
    ("section", "field", "rule"),
    [
        ("aws", "pools.endpoint.kind", "is `sagemaker`, a pool of aws, which this deployment does"),
        ("on_prem", "pools.gpu.kind", "is `vllm`, a pool of on_prem, which this deployment does"),
    ],
)
def test_a_pool_of_a_place_that_is_not_served_is_refused(section, field, rule):
    values = small()
    del values[section]
    error = refused(values)
    assert field_of(error) == field
    assert error.rule.startswith(rule)
    assert error.fix.startswith(f"add the section `{section}`, or remove the pool")
    assert f"also tenants.desk.{section}" in error.fix


def test_an_intent_in_a_place_that_is_not_served_is_refused():
    values = small()
    del values["aws"], values["pools"]["endpoint"], values["tenants"]["desk"]["aws"]
    values["tiers"]["small"] = ["gpu"]
    values["intents"]["ask"]["places"] = ["on_prem", "aws"]
    error = refused(values)
    assert field_of(error) == "intents.ask.places"
    assert error.rule == "names aws, which this deployment does not serve from"


def test_a_tenant_without_an_identity_is_refused():
    values = small()
    values["tenants"]["nobody"] = {"floor": "C1"}
    error = refused(values)
    assert (field_of(error), error.rule) == (
        "tenants.nobody",
        "has no identity, so no request could ever be theirs",
    )
    assert error.fix == "give it `on_prem.client_key`, `aws.principal`, or both"


@pytest.mark.parametrize("place", ["on_prem", "aws"])
def test_two_tenants_may_not_share_an_identity(place):
    values = small()
    values["tenants"]["second"] = {place: values["tenants"]["desk"][place]}
    error = refused(values)
    assert field_of(error) == f"tenants.second.{place}"
    assert error.rule == (
        "is the same identity as tenants.desk, so the two could not be told apart"
    )


def test_a_lambda_tool_is_not_offered_on_hosts():
    values = small()
    values["tools"]["look"]["transport"] = {"kind": "lambda", "function": "look"}
    error = refused(values)
    assert field_of(error) == "intents.ask.tools"
    assert error.rule == (
        "offers `look` on_prem, but it is a Lambda function, which hosts cannot reach"
    )
    values["tools"]["look"]["transport_overrides"] = {
        "on_prem": {"kind": "http", "url": "http://127.0.0.1:9/look"}
    }
    tool = load(values).tools["look"]
    assert [tool.transport_in(place).kind for place in Place] == ["http", "lambda"]


def test_a_lambda_tool_as_the_override_of_hosts_is_refused():
    values = small()
    values["tools"]["look"]["transport_overrides"] = {
        "on_prem": {"kind": "lambda", "function": "look"}
    }
    assert field_of(refused(values)) == "tools.look.transport_overrides.on_prem"


def test_two_engines_may_not_share_a_port_of_one_host():
    error = refusal(changed("demo", ("port: 18102", "port: 18101")))
    assert field_of(error) == "pools.gpu_large.port"
    assert error.rule == "18101 is taken by pools.gpu_small on host `localhost`"


def test_an_engine_may_not_take_the_gateways_port():
    error = refusal(changed("demo", ("port: 18102", "port: 18100")))
    assert error.rule == "18100 is taken by on_prem.gateway on host `localhost`"


def test_two_pools_of_one_model_use_one_port():
    values = small()
    values["on_prem"]["hosts"]["there"] = {"address": "127.0.0.2"}
    values["pools"]["gpu"]["hosts"] = ["here"]
    values["pools"]["more"] = {**values["pools"]["gpu"], "hosts": ["there"], "port": 18105}
    values["tiers"]["small"].append("more")
    error = refused(values)
    assert error.rule == (
        "is 18105, but pools.gpu serves models.small on 18101: one file of engine arguments is "
        "rendered per model"
    )
    values["pools"]["more"]["port"] = 18101
    assert load(values).pools_in(Place.ON_PREM) == ("gpu", "more")


def test_a_host_elsewhere_is_not_reached_in_clear():
    values = small()
    values["on_prem"]["hosts"]["far"] = {"address": "gpu-a.bank.example"}
    error = refused(values)
    assert field_of(error) == "on_prem.tls"
    assert error.rule == (
        "is missing, but far would be reached over the network: requests and the engine's key "
        "would travel in clear"
    )
    assert error.fix == "add `tls` with certificate, key and authority"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_needs_no_certificate(address):
    values = small()
    values["on_prem"]["hosts"]["here"]["address"] = address
    assert load(values).on_prem.hosts["here"].is_loopback


def test_an_engine_that_no_known_image_carries_needs_the_images_release():
    values = small()
    values["models"]["small"]["serving"]["engine"]["version"] = "0.32.0"
    error = refused(values)
    assert field_of(error) == "models.small.serving.engine.version"
    assert error.rule == "vLLM 0.32.0 is in no release of AWS's image that is known here"
    assert "0.30.0" in error.fix
    values["aws"]["container_release"] = "2.9"
    assert load(values).aws.container_release == "2.9"


def test_an_image_that_carries_another_engine_is_refused():
    values = small()
    values["aws"]["container_release"] = "2.3"
    error = refused(values)
    assert field_of(error) == "aws.container_release"
    assert error.rule == "2.3 carries vLLM 0.27.0, but models.small asks for 0.30.0"


def test_hosts_may_run_another_engine_version_than_the_image():
    values = small()
    values["models"]["small"]["serving"]["engine"]["version_overrides"] = {"on_prem": "0.32.0"}
    engine = load(values).models["small"].serving.engine
    assert [engine.version_in(place) for place in Place] == ["0.32.0", "0.30.0"]


def test_a_tool_may_not_outlive_every_request():
    values = small()
    values["tools"]["look"]["time_limit_ms"] = 90_000
    error = refused(values)
    assert field_of(error) == "tools.look.time_limit_ms"
    assert error.rule == "is 90000, above deadline.max_ms (60000)"


@pytest.mark.parametrize("field", ["max_tokens", "answer.max_tokens"])
def test_an_answer_longer_than_the_model_has_room_for_is_refused(field):
    values = small()
    section = values["intents"]["ask"]
    (section["answer"] if field.startswith("answer") else section)["max_tokens"] = 4096
    error = refused(values)
    assert field_of(error) == f"intents.ask.{field}"
    assert error.rule == "is 4096, but `gpu` has room for 4096 tokens, prompt included"


@pytest.mark.parametrize(
    ("old", "new", "field", "rule"),
    [
        ("eu-west-3b]", "eu-west-1b]", "aws.zones", "`eu-west-1b` is not a zone of eu-west-3"),
        ("eu-west-3b]", "eu-west-3a]", "aws.zones", "lists a zone twice"),
        (
            "  tags: {project",
            "  scaling: {min_instances: 1}\n  tags: {project",
            "aws.scaling.min_instances",
            "is 1: while that instance is replaced, requests would wait for a cold start",
        ),
        (
            "  tags: {project",
            "  scaling: {max_instances: 1}\n  tags: {project",
            "aws.scaling.max_instances",
            "is 1, below min_instances (2)",
        ),
        (
            "default_ms: 20000",
            "default_ms: 90000",
            "deadline.default_ms",
            "is 90000, above max_ms (60000)",
        ),
        (
            "aws:\n  account",
            "cache: {enabled: true}\n\naws:\n  account",
            "cache.enabled",
            "is true, but this release does not serve it, and a switch must not lie",
        ),
    ],
)
def test_a_value_its_own_section_cannot_honour_is_refused(old, new, field, rule):
    error = refusal(changed("demo", (old, new)))
    assert (field_of(error), error.rule) == (field, rule)


def test_an_intent_that_reasons_needs_a_model_whose_reasoning_can_be_told_apart():
    values = small()
    values["intents"]["ask"]["reasoning"] = True
    values["models"]["small"]["serving"]["reasoning_parser"] = None
    error = refused(values)
    assert field_of(error) == "intents.ask.reasoning"
    assert error.rule == (
        "is true, but models.small, which `gpu` serves, has no reasoning_parser: its reasoning "
        "would be shown as the answer"
    )


def test_an_intent_with_tools_needs_a_model_whose_calls_can_be_read():
    values = small()
    values["models"]["small"]["serving"]["tool_call_parser"] = None
    error = refused(values)
    assert field_of(error) == "intents.ask.tools"
    assert error.fix.splitlines()[0] == (
        "set models.small.serving.tool_call_parser, or offer no tools"
    )
