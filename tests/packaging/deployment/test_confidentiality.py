"""Every way found to let C3 or C4 data reach something that may not hold it: none of them loads."""

from __future__ import annotations

import pytest

from model_packaging.deployment.labels import Label
from model_packaging.deployment.places import Place
from tests.packaging.deployment.builders import (
    changed,
    example,
    field_of,
    load,
    refusal,
    refused,
    small,
)


@pytest.mark.parametrize("kind", ["sagemaker", "bedrock"])
@pytest.mark.parametrize("label", ["C3", "C4"])
def test_a_kind_outside_the_hosts_may_not_hold_more_than_c2(kind, label):
    error = refusal(changed("analyst", (f"{kind}: C2", f"{kind}: {label}")))
    assert field_of(error) == f"data.may_hold.{kind}"
    assert error.rule == (f"is {label}, but data above C2 never leaves the company's own hosts")
    assert error.fix == "set it to C2 or lower, and serve such data with a `vllm` pool"


@pytest.mark.parametrize("label", ["C2", "C3", "C4"])
def test_a_pool_may_not_hold_more_than_its_kind(label):
    values = small()
    values["data"] = {"may_hold": {"sagemaker": "C1"}}
    values["pools"]["endpoint"]["may_hold"] = label
    error = refused(values)
    assert field_of(error) == "pools.endpoint.may_hold"
    assert error.rule == (
        f"is {label}, above data.may_hold.sagemaker (C1): a pool can only lower what its kind may "
        "hold"
    )
    assert error.fix == "set it to C1 or lower, or remove it"


def test_a_pool_on_a_host_may_not_hold_more_than_hosts_may():
    values = small()
    values["data"] = {"may_hold": {"vllm": "C2"}}
    values["pools"]["gpu"]["may_hold"] = "C4"
    assert field_of(refused(values)) == "pools.gpu.may_hold"


def test_a_pool_may_lower_what_its_kind_may_hold():
    assert example("analyst").may_hold("bedrock_small") is Label.C1
    assert example("analyst").may_hold("endpoint_small") is Label.C2


def test_an_intent_that_offers_a_c4_tool_may_not_be_offered_on_aws():
    error = refusal(changed("demo", ("places: [on_prem]", "places: [on_prem, aws]")))
    assert field_of(error) == "intents.lookup.tools"
    assert error.rule == (
        "offers `get_exposure`, whose results are C4, but in aws no pool of tier `small` may hold "
        "more than C2 and no pool of tier `large` may hold more than C2"
    )
    assert error.fix.splitlines()[0] == (
        "remove `get_exposure` from the intent, leave aws out of intents.lookup.places, or add a "
        "pool that may hold C4 to tiers.small and tiers.large"
    )


def test_an_intent_without_places_is_offered_everywhere_and_checked_there():
    error = refusal(changed("demo", ("    places: [on_prem]\n", "")))
    assert field_of(error) == "intents.lookup.tools"


def test_raising_the_label_of_one_offered_tool_is_enough_to_be_refused():
    text = changed("demo", ("tools/get_news}", "tools/get_news}\n    # raised"))
    start = text.index("get_news:\n    description")
    error = refusal(text[:start] + text[start:].replace("label: C1", "label: C3", 1))
    assert error.rule.startswith("offers `get_news`, whose results are C3, but in aws")


def test_the_answering_tier_must_hold_what_tools_return():
    values = small()
    values["pools"]["writer"] = {"kind": "vllm", "model": "small", "port": 18101, "may_hold": "C2"}
    values["pools"]["writer"]["hosts"] = ["there"]
    values["on_prem"]["hosts"]["there"] = {"address": "127.0.0.2"}
    values["pools"]["gpu"]["hosts"] = ["here"]
    values["tiers"]["large"] = ["writer", "endpoint"]
    values["intents"]["ask"]["answer"]["tier"] = "large"
    values["intents"]["ask"]["places"] = ["on_prem"]
    values["default_intent"] = {"on_prem": "ask", "aws": "ask"}
    values["tools"]["look"]["label"] = "C3"
    del values["aws"], values["tenants"]["desk"]["aws"], values["pools"]["endpoint"]
    values["tiers"] = {"small": ["gpu"], "large": ["writer"]}
    error = refused(values)
    assert error.rule == (
        "offers `look`, whose results are C3, but in on_prem no pool of tier `large` may hold more "
        "than C2"
    )


@pytest.mark.parametrize("floor", ["C3", "C4"])
def test_a_tenant_of_confidential_data_may_not_have_an_identity_on_aws(floor):
    values = small()
    values["tenants"]["desk"]["floor"] = floor
    error = refused(values)
    assert field_of(error) == "tenants.desk.floor"
    assert error.rule == (
        f"is {floor}, but in aws no pool of tier `small` may hold more than C2, so intent `ask` "
        "could never answer them"
    )
    assert error.fix == (
        "remove tenants.desk.aws, leave aws out of intents.ask.places, or add a pool that may hold "
        f"{floor} to tiers.small"
    )


def test_a_tenant_of_confidential_data_may_be_served_on_the_hosts():
    values = small()
    values["tenants"]["desk"]["floor"] = "C4"
    del values["tenants"]["desk"]["aws"]
    assert load(values).tenants_in(Place.AWS) == ()


def test_a_tier_without_a_pool_in_a_place_is_refused():
    values = small()
    values["tiers"] = {"small": ["gpu"], "other": ["endpoint"]}
    values["intents"]["ask"]["answer"]["tier"] = "small"
    error = refused(values)
    assert field_of(error) == "intents.ask.tier"
    assert error.rule == "tier `small` has no pool in aws, where this intent is offered"
    assert error.fix.splitlines()[0] == (
        "add a sagemaker or bedrock pool to tiers.small, or set intents.ask.places to [on_prem]"
    )


def test_a_label_that_does_not_exist_is_refused():
    error = refusal(changed("demo", ("unlabelled: C4", "unlabelled: C5")))
    assert field_of(error) == "data.unlabelled"
    assert error.rule == "input should be 'C1', 'C2', 'C3' or 'C4'"


def test_a_request_without_a_label_counts_as_c4_unless_stated():
    assert load(small()).data.unlabelled is Label.C4


def test_labels_are_ordered_by_their_rank():
    ranks = [label.rank for label in Label]
    assert ranks == [0, 1, 2, 3]
    assert Label.C2.may_be_held_up_to(Label.C2)
    assert not Label.C3.may_be_held_up_to(Label.C2)
