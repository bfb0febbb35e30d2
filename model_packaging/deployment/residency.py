"""Rule: Bedrock processes a request only in regions that the deployment allows.

`eu.` is a geography of Bedrock, not of the European Union: its profiles may be served from London
and Zurich.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from model_packaging.deployment.aws import Aws
from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.pools import BedrockPool
from model_packaging.deployment.problems import Problem

POSSIBLE_DESTINATIONS: Mapping[str, tuple[str, ...]] = {
    "eu": (
        "eu-central-1",
        "eu-central-2",
        "eu-north-1",
        "eu-south-1",
        "eu-south-2",
        "eu-west-1",
        "eu-west-2",
        "eu-west-3",
    )
}
"""The regions that profiles of a geography may be served from, by AWS's documentation."""


def residency_problems(deployment: DeploymentFields) -> Iterator[Problem]:
    """Bedrock pools that a region outside `aws.bedrock_destination_regions` could serve."""
    if deployment.aws is None:
        return
    for name, pool in deployment.pools.items():
        if isinstance(pool, BedrockPool):
            yield from _pool(f"pools.{name}", pool, deployment.aws)


def _pool(where: str, pool: BedrockPool, aws: Aws) -> Iterator[Problem]:
    allowed = aws.bedrock_destination_regions
    if pool.profile is None:
        if aws.region not in allowed:
            yield Problem(
                f"{where}.model_id",
                rule=f"is served by {aws.region}, which aws.bedrock_destination_regions does not "
                "allow",
                fix=f"add {aws.region} to aws.bedrock_destination_regions, or remove the pool",
            )
        return
    if pool.geography == "global":
        yield Problem(
            f"{where}.profile",
            rule=f"`{pool.profile}` is a global profile: any region of the world may serve it",
            fix="use a model of the region itself (`model_id`) or a profile of one geography",
        )
        return
    destinations = pool.destinations or POSSIBLE_DESTINATIONS.get(pool.geography or "", ())
    record = (
        f"record the profile's own destinations in {where}.destinations (`aws bedrock "
        f"get-inference-profile --inference-profile-identifier {pool.profile}` lists them)"
    )
    if not destinations:
        yield Problem(
            f"{where}.destinations",
            rule=f"is missing, and nothing here knows which regions may serve `{pool.profile}`",
            fix=record,
        )
    outside = sorted(set(destinations) - set(allowed))
    if outside:
        advice = (
            "use a `model_id` of the region itself, or allow the regions in "
            "aws.bedrock_destination_regions"
        )
        yield Problem(
            f"{where}.profile",
            rule=f"`{pool.profile}` may be served from {', '.join(outside)}, which "
            "aws.bedrock_destination_regions does not allow",
            fix=advice if pool.destinations else f"{record}, {advice}",
        )
