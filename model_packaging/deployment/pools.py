"""`pools` and `tiers`: who can answer, and in which order they are asked."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from model_packaging.deployment.labels import Label
from model_packaging.deployment.places import PLACE_OF_KIND, Place
from model_packaging.deployment.problems import refuse
from model_packaging.deployment.section import Name, Region, Section

_GEOGRAPHIES = ("global", "us-gov", "us", "eu", "apac", "jp", "au", "ca", "sa", "me", "af")
_GEOGRAPHY = re.compile(rf"^({'|'.join(_GEOGRAPHIES)})\.")
_PROFILE_ARN = re.compile(
    r"^arn:aws:bedrock:[a-z0-9-]+:[0-9]{12}:(application-)?inference-profile/\S+$"
)


class Budgets(Section):
    """How long one attempt on this pool may take before the next pool is asked."""

    connect_ms: Annotated[int, Field(ge=10, le=10_000)] = Field(
        default=1_000, description="Milliseconds until a connection stands."
    )
    first_token_ms: Annotated[int, Field(ge=50, le=120_000)] = Field(
        default=5_000, description="Milliseconds until the first token."
    )
    gap_ms: Annotated[int, Field(ge=50, le=60_000)] = Field(
        default=5_000, description="Milliseconds between two tokens."
    )


class _Pool(Section):
    may_hold: Label | None = Field(
        default=None,
        description="Highest label this pool may see. It can only lower what `data.may_hold` says "
        "of its kind.",
    )
    budgets: Budgets = Field(default=Budgets(), description="Time limits of one attempt.")


class VllmPool(_Pool):
    """vLLM engines on the company's own hosts, one on each."""

    kind: Literal["vllm"] = Field(description="Engines on own hosts.")
    model: Name = Field(description="Key of the model in `models`.")
    port: Annotated[int, Field(ge=1024, le=65535)] = Field(
        description="TCP port of the engine on every host."
    )
    hosts: Annotated[tuple[Name, ...], Field(min_length=1)] | None = Field(
        default=None, description="Keys of `on_prem.hosts` that run it; unset means all of them."
    )


class SageMakerPool(_Pool):
    """A SageMaker endpoint that serves the same package."""

    kind: Literal["sagemaker"] = Field(description="A SageMaker endpoint.")
    model: Name = Field(description="Key of the model in `models`.")
    instance_type: (
        Annotated[str, StringConstraints(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9]+$")] | None
    ) = Field(
        default=None, description="Instance type of this endpoint; unset means `aws.instance_type`."
    )


def _is_a_profile(value: str) -> str:
    if not _GEOGRAPHY.match(value) and not _PROFILE_ARN.match(value):
        raise refuse(
            "",
            rule=f"`{value}` is not an inference profile",
            fix="a model of the region itself goes under `model_id`; a profile starts with its "
            "geography, as in `eu.`",
        )
    return value


def _is_in_region(value: str) -> str:
    if _GEOGRAPHY.match(value):
        raise refuse(
            "",
            rule=f"`{value}` is an inference profile, which other regions may serve",
            fix="write it under `profile`, so that its destinations are checked",
        )
    return value


class BedrockPool(_Pool):
    """A model on Bedrock: the fallback of the AWS place."""

    kind: Literal["bedrock"] = Field(description="A model on Bedrock.")
    model_id: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[a-z0-9-]+\.[A-Za-z0-9.:-]+$"),
            AfterValidator(_is_in_region),
        ]
        | None
    ) = Field(default=None, description="Id of a model that `aws.region` itself serves.")
    profile: Annotated[str, AfterValidator(_is_a_profile)] | None = Field(
        default=None, description="Id or ARN of an inference profile; several regions may serve it."
    )
    destinations: tuple[Region, ...] = Field(
        default=(),
        description="The regions that may serve `profile`, as `aws bedrock get-inference-profile` "
        "lists them. Unset means every region of its geography.",
    )

    @model_validator(mode="after")
    def _names_one_thing(self) -> BedrockPool:
        if (self.model_id is None) == (self.profile is None):
            raise refuse(
                "",
                rule="names "
                + ("neither" if self.profile is None else "both")
                + " of `model_id` and `profile`",
                fix="name exactly one: `model_id` stays in the region, `profile` may leave it",
            )
        if self.destinations and self.profile is None:
            raise refuse(
                "destinations",
                rule="says where a profile may be served, but this pool has none",
                fix="remove it: a `model_id` is served by `aws.region` alone",
            )
        return self

    @property
    def target(self) -> str:
        """What is called: the model id or the profile."""
        return self.model_id or self.profile or ""

    @property
    def geography(self) -> str | None:
        """The profile's geography (`eu`, `global`, ...), or None for a model id or an ARN."""
        found = _GEOGRAPHY.match(self.profile or "")
        return found.group(1) if found else None


Pool = Annotated[VllmPool | SageMakerPool | BedrockPool, Field(discriminator="kind")]


def place_of(pool: VllmPool | SageMakerPool | BedrockPool) -> Place:
    """The only place whose plan may hold `pool`."""
    return PLACE_OF_KIND[pool.kind]
