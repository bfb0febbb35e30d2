"""`aws`: account, region, capacity, roll-out, residency and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from model_packaging.deployment.problems import Problem, raise_if_any, refuse
from model_packaging.deployment.section import Region, Section

_Release = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+$")]
_InstanceType = Annotated[str, StringConstraints(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$")]
_Email = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]
_TagText = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9 _.:/=+@-]{1,128}$")]


class Scaling(Section):
    """How many instances an endpoint has."""

    min_instances: Annotated[int, Field(ge=1)] = Field(
        default=2, description="Instances that are always warm. At least 2."
    )
    max_instances: Annotated[int, Field(ge=1, le=100)] = Field(
        default=4, description="Most instances. An update needs quota for twice as many."
    )
    target_concurrency: Annotated[int, Field(ge=1, le=256)] = Field(
        default=6, description="Concurrent requests per instance that scaling aims at."
    )
    scale_in_cooldown_seconds: Annotated[int, Field(ge=60, le=3600)] = Field(
        default=600, description="Pause between two removals of an instance."
    )

    @model_validator(mode="after")
    def _survives_one_instance(self) -> Scaling:
        if self.min_instances < 2:
            raise refuse(
                "min_instances",
                rule="is 1: while that instance is replaced, requests would wait for a cold start",
                fix="set it to 2 or more",
            )
        if self.max_instances < self.min_instances:
            raise refuse(
                "max_instances",
                rule=f"is {self.max_instances}, below min_instances ({self.min_instances})",
                fix="raise max_instances or lower min_instances",
            )
        return self


class Rollout(Section):
    """How a new package replaces the old one: a canary, then the rest, back on an alarm."""

    canary_percent: Annotated[int, Field(ge=5, le=50)] = Field(
        default=10, description="Share of capacity that takes the new package first."
    )
    bake_seconds: Annotated[int, Field(ge=60, le=3600)] = Field(
        default=600, description="How long the canary must stay without an alarm."
    )
    termination_wait_seconds: Annotated[int, Field(ge=0, le=3600)] = Field(
        default=120, description="How long the old fleet stays after the switch."
    )


class Budget(Section):
    """The cost alarm."""

    monthly_usd: Annotated[int, Field(ge=1)] = Field(description="Monthly limit in US dollars.")
    notify: Annotated[tuple[_Email, ...], Field(min_length=1)] = Field(
        description="Who is told at 80 % and at 100 %."
    )


class Aws(Section):
    """The AWS place."""

    account: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] = Field(
        description="Account number, quoted: twelve digits."
    )
    region: Region = Field(description="Region of everything, for example `eu-west-3`.")
    zones: Annotated[tuple[str, ...], Field(min_length=2)] = Field(
        description="Availability zones, at least two; named here so that synthesis asks nobody."
    )
    container_release: _Release | None = Field(
        default=None,
        description="Release of AWS's vLLM server image, for example `2.5`; it decides how "
        "SM_VLLM_* is read. Unset means the newest known release with the models' engine version.",
    )
    instance_type: _InstanceType = Field(description="Instance type of SageMaker endpoints.")
    scaling: Scaling = Field(default=Scaling(), description="Number of instances.")
    rollout: Rollout = Field(default=Rollout(), description="How an update is rolled out.")
    bedrock_destination_regions: tuple[Region, ...] = Field(
        default=(), description="The only regions in which Bedrock may process a request."
    )
    budget: Budget | None = Field(default=None, description="Cost alarm.")
    tags: Mapping[_TagText, _TagText] = Field(default={}, description="Tags on every resource.")

    @model_validator(mode="after")
    def _zones_are_in_the_region(self) -> Aws:
        raise_if_any(
            Problem(
                "zones",
                rule=f"`{zone}` is not a zone of {self.region}",
                fix=f"write zones of the region, as in `{self.region}a`",
            )
            for zone in self.zones
            if not (zone.startswith(self.region) and zone[len(self.region) :].isalpha())
        )
        if len(set(self.zones)) != len(self.zones):
            raise refuse("zones", rule="lists a zone twice", fix="name different zones")
        return self
