"""Bedrock only where the deployment allows it."""

from __future__ import annotations

import pytest

from model_packaging.deployment.places import Place
from tests.packaging.deployment.builders import field_of, load, refused, small

EU_ONLY = ["eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3"]
PROFILE = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"


def with_bedrock(pool, *, allowed):
    values = small()
    values["pools"]["fallback"] = {"kind": "bedrock", **pool}
    values["tiers"]["small"].append("fallback")
    values["aws"]["bedrock_destination_regions"] = allowed
    return values


def test_an_eu_profile_is_taken_for_every_region_of_its_geography_london_and_zurich_included():
    error = refused(with_bedrock({"profile": PROFILE}, allowed=EU_ONLY))
    assert field_of(error) == "pools.fallback.profile"
    assert error.rule == (
        f"`{PROFILE}` may be served from eu-central-2, eu-west-2, which "
        "aws.bedrock_destination_regions does not allow"
    )
    assert error.fix.startswith(
        "record the profile's own destinations in pools.fallback.destinations (`aws bedrock "
        f"get-inference-profile --inference-profile-identifier {PROFILE}` lists them)"
    )


def test_an_eu_profile_loads_when_its_recorded_destinations_are_all_allowed():
    pool = {"profile": PROFILE, "destinations": EU_ONLY}
    assert "fallback" in load(with_bedrock(pool, allowed=EU_ONLY)).pools_in(Place.AWS)


def test_an_eu_profile_loads_when_its_whole_geography_is_allowed():
    allowed = [*EU_ONLY, "eu-central-2", "eu-west-2"]
    assert load(with_bedrock({"profile": PROFILE}, allowed=allowed)).name == "small"


def test_one_recorded_destination_outside_the_list_is_refused():
    pool = {"profile": PROFILE, "destinations": [*EU_ONLY, "eu-west-2"]}
    error = refused(with_bedrock(pool, allowed=EU_ONLY))
    assert "may be served from eu-west-2, which" in error.rule
    assert error.fix == (
        "use a `model_id` of the region itself, or allow the regions in "
        "aws.bedrock_destination_regions"
    )


@pytest.mark.parametrize("destinations", [[], EU_ONLY])
def test_a_global_profile_is_always_refused(destinations):
    pool = {"profile": "global.anthropic.claude-sonnet-4-6", "destinations": destinations}
    error = refused(with_bedrock(pool, allowed=EU_ONLY))
    assert field_of(error) == "pools.fallback.profile"
    assert error.rule == (
        "`global.anthropic.claude-sonnet-4-6` is a global profile: any region of the world may "
        "serve it"
    )
    assert error.fix.startswith("use a model of the region itself (`model_id`)")


@pytest.mark.parametrize(
    "profile",
    [
        "us.anthropic.claude-sonnet-4-6",
        "arn:aws:bedrock:eu-west-3:111122223333:application-inference-profile/abc123",
    ],
)
def test_a_profile_nobody_knows_needs_its_destinations(profile):
    error = refused(with_bedrock({"profile": profile}, allowed=EU_ONLY))
    assert field_of(error) == "pools.fallback.destinations"
    assert "nothing here knows which regions may serve" in error.rule


def test_a_model_of_the_region_needs_the_region_on_the_list():
    pool = {"model_id": "mistral.mistral-large-2402-v1:0"}
    assert load(with_bedrock(pool, allowed=["eu-west-3"])).name == "small"
    error = refused(with_bedrock(pool, allowed=["eu-west-1"]))
    assert field_of(error) == "pools.fallback.model_id"
    assert error.rule == (
        "is served by eu-west-3, which aws.bedrock_destination_regions does not allow"
    )
    assert error.fix == "add eu-west-3 to aws.bedrock_destination_regions, or remove the pool"


def test_no_region_is_allowed_unless_it_is_listed():
    error = refused(with_bedrock({"profile": PROFILE, "destinations": EU_ONLY}, allowed=[]))
    assert "may be served from eu-central-1, eu-north-1" in error.rule


def test_a_profile_under_model_id_is_refused():
    error = refused(with_bedrock({"model_id": PROFILE}, allowed=EU_ONLY))
    assert error.rule == f"`{PROFILE}` is an inference profile, which other regions may serve"
    assert error.fix == "write it under `profile`, so that its destinations are checked"


def test_a_model_under_profile_is_refused():
    model = "mistral.mistral-large-2402-v1:0"
    error = refused(with_bedrock({"profile": model}, allowed=EU_ONLY))
    assert error.rule == f"`{model}` is not an inference profile"


@pytest.mark.parametrize(
    ("pool", "rule"),
    [
        ({}, "names neither of `model_id` and `profile`"),
        ({"model_id": "a.b-v1:0", "profile": PROFILE}, "names both of `model_id` and `profile`"),
    ],
)
def test_a_bedrock_pool_names_exactly_one_thing(pool, rule):
    error = refused(with_bedrock(pool, allowed=EU_ONLY))
    assert (field_of(error), error.rule) == ("pools.fallback", rule)


def test_destinations_without_a_profile_are_refused():
    pool = {"model_id": "a.b-v1:0", "destinations": EU_ONLY}
    assert field_of(refused(with_bedrock(pool, allowed=EU_ONLY))) == "pools.fallback.destinations"
