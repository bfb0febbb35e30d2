"""Names that lead nowhere, and parts that nothing leads to."""

from __future__ import annotations

import pytest

from tests.packaging.deployment.builders import field_of, refused, small


def broken(path: str, value: object):
    """The error of a small deployment with the value at `path` replaced, or added."""
    values = small()
    *parents, last = path.split(".")
    section = values
    for part in parents:
        section = section[part]
    section[last] = value
    return refused(values)


@pytest.mark.parametrize(
    ("path", "value", "field", "rule", "fix"),
    [
        (
            "pools.gpu.model",
            "smal",
            "pools.gpu.model",
            "names `smal`, which is not in `models`",
            "write one of small, or add `models.smal`",
        ),
        (
            "pools.gpu.hosts",
            ["there"],
            "pools.gpu.hosts",
            "names `there`, which is not in `on_prem.hosts`",
            "write one of here, or add `on_prem.hosts.there`",
        ),
        (
            "tiers.small",
            ["gpu", "endpoint", "other"],
            "tiers.small",
            "names `other`, which is not in `pools`",
            "write one of endpoint, gpu, or add `pools.other`",
        ),
        (
            "intents.ask.tier",
            "tiny",
            "intents.ask.tier",
            "names `tiny`, which is not in `tiers`",
            "write one of small, or add `tiers.tiny`",
        ),
        (
            "intents.ask.answer.tier",
            "tiny",
            "intents.ask.answer.tier",
            "names `tiny`, which is not in `tiers`",
            "write one of small, or add `tiers.tiny`",
        ),
        (
            "intents.ask.tools",
            ["look", "buy"],
            "intents.ask.tools",
            "names `buy`, which is not in `tools`",
            "write one of look, or add `tools.buy`",
        ),
        (
            "default_intent",
            "other",
            "default_intent",
            "names `other`, which is not in `intents`",
            "write one of ask, or add `intents.other`",
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(path, value, field, rule, fix):
    error = broken(path, value)
    assert (field_of(error), error.rule) == (field, rule)
    assert error.fix.splitlines()[0] == fix


def test_a_model_without_a_pool_is_refused():
    values = small()
    values["models"]["large"] = {**values["models"]["small"]}
    values["models"]["large"]["serving"] = {
        **values["models"]["small"]["serving"],
        "served_name": "other",
    }
    error = refused(values)
    assert (field_of(error), error.rule) == (
        "models.large",
        "is served by no pool, so it would be built for nobody",
    )


def test_two_models_may_not_be_served_under_one_name():
    values = small()
    values["models"]["large"] = values["models"]["small"]
    values["pools"]["gpu_large"] = {"kind": "vllm", "model": "large", "port": 18102}
    values["tiers"]["small"].append("gpu_large")
    error = refused(values)
    assert field_of(error) == "models.large.serving.served_name"
    assert error.rule == "`analyst` is also the served name of models.small"


def test_a_pool_without_a_tier_is_refused():
    error = broken("tiers.small", ["gpu"])
    assert (field_of(error), error.rule) == (
        "pools.endpoint",
        "is in no tier, so nothing would ever be sent to it",
    )


@pytest.mark.parametrize(
    ("path", "value", "field", "rule"),
    [
        (
            "tiers.small",
            ["gpu", "endpoint", "gpu"],
            "tiers.small",
            "lists `gpu` twice",
        ),
        ("intents.ask.tools", ["look", "look"], "intents.ask.tools", "lists `look` twice"),
        ("intents.ask.places", ["aws", "aws"], "intents.ask.places", "lists `aws` twice"),
    ],
)
def test_a_name_listed_twice_is_refused(path, value, field, rule):
    error = broken(path, value)
    assert (field_of(error), error.rule, error.fix.splitlines()[0]) == (field, rule, "list it once")


def test_each_place_needs_a_default_intent():
    error = broken("default_intent", {"on_prem": "ask"})
    assert (field_of(error), error.rule) == (
        "default_intent.aws",
        "is missing, but the deployment serves from aws",
    )
    assert error.fix == "name one of ask"


def test_the_default_intent_is_offered_where_it_is_the_default():
    error = broken("intents.ask.places", ["on_prem"])
    assert error.rule == "`ask` is not offered in aws"
    assert error.fix == (
        "name an intent per place, as in `default_intent: {on_prem: lookup, aws: market}`"
    )
