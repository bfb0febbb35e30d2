"""Every section together, and the questions that several parts of the repository ask about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from model_packaging.deployment.aws import Aws
from model_packaging.deployment.data import Data
from model_packaging.deployment.intents import DefaultIntent, Intent
from model_packaging.deployment.labels import Label, highest, lowest
from model_packaging.deployment.models import Model
from model_packaging.deployment.on_prem import OnPrem
from model_packaging.deployment.places import Place
from model_packaging.deployment.pools import Pool, VllmPool, place_of
from model_packaging.deployment.section import Name, Section, Text
from model_packaging.deployment.tenants import Tenant
from model_packaging.deployment.timing import Cache, Deadline, Features
from model_packaging.deployment.tools import Tool

DEFAULT_STORE = ".perimeter/packages"


class DeploymentFields(Section):
    """The fields of a deployment, each section checked on its own.

    Use `deployment.Deployment`, which checks them together.
    """

    schema_: Literal["perimeter.deployment/1"] = Field(
        alias="schema", description="Format of this file."
    )
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")] = Field(
        description="Name of the deployment; files, stacks and units carry it."
    )
    description: Text | None = Field(default=None, description="What the deployment is for.")
    store: Annotated[str, StringConstraints(min_length=1)] = Field(
        default=DEFAULT_STORE, description="Folder of built packages."
    )
    models: Annotated[Mapping[Name, Model], Field(min_length=1)] = Field(
        description="Models by key, for example `small` and `large`."
    )
    pools: Annotated[Mapping[Name, Pool], Field(min_length=1)] = Field(
        description="Who can answer, by name."
    )
    tiers: Annotated[
        Mapping[Name, Annotated[tuple[Name, ...], Field(min_length=1)]], Field(min_length=1)
    ] = Field(
        description="Pools by size of model, the preferred one first. Each place uses those of its "
        "own kinds."
    )
    data: Data = Field(default=Data(), description="Labels and ceilings.")
    tenants: Annotated[Mapping[Name, Tenant], Field(min_length=1)] = Field(
        description="Callers, by name."
    )
    intents: Annotated[Mapping[Name, Intent], Field(min_length=1)] = Field(
        description="Kinds of request, by name."
    )
    default_intent: DefaultIntent = Field(
        description="Intent of a request that names none: one name, or one per place."
    )
    tools: Mapping[Name, Tool] = Field(default={}, description="Tools, by the name a model calls.")
    deadline: Deadline = Field(default=Deadline(), description="Time limit of a whole request.")
    cache: Cache = Field(default=Cache(), description="Exact-answer cache.")
    features: Features = Field(default=Features(), description="Facts about the caller.")
    aws: Aws | None = Field(default=None, description="The AWS place; unset: not served there.")
    on_prem: OnPrem | None = Field(
        default=None, description="The on-prem place; unset: not served there."
    )

    @property
    def places(self) -> tuple[Place, ...]:
        """The places that this deployment serves from."""
        present = {Place.ON_PREM: self.on_prem, Place.AWS: self.aws}
        return tuple(place for place, section in present.items() if section is not None)

    def may_hold(self, pool: str) -> Label:
        """The highest label that `pool` may see: the lower of its own limit and its kind's."""
        ceiling = self.data.may_hold.of(self.pools[pool].kind)
        own = self.pools[pool].may_hold
        return ceiling if own is None else lowest(ceiling, own)

    def pools_in(self, place: Place) -> tuple[str, ...]:
        """Names of the pools of `place`, sorted."""
        return tuple(sorted(name for name, pool in self.pools.items() if place_of(pool) is place))

    def tier_in(self, tier: str, place: Place) -> tuple[str, ...]:
        """The pools of `tier` in `place`, in order of preference."""
        return tuple(name for name in self.tiers[tier] if place_of(self.pools[name]) is place)

    def highest_held(self, tier: str, place: Place) -> Label | None:
        """The highest label that some pool of `tier` in `place` may see; None without a pool."""
        return highest(self.may_hold(pool) for pool in self.tier_in(tier, place))

    def intent_places(self, intent: str) -> tuple[Place, ...]:
        """Where `intent` is offered."""
        stated = self.intents[intent].places
        return tuple(place for place in self.places if stated is None or place in stated)

    def intents_in(self, place: Place) -> tuple[str, ...]:
        """Names of the intents offered in `place`, sorted."""
        return tuple(sorted(name for name in self.intents if place in self.intent_places(name)))

    def tenants_in(self, place: Place) -> tuple[str, ...]:
        """Names of the tenants with an identity in `place`, sorted."""
        return tuple(
            sorted(name for name, tenant in self.tenants.items() if place in tenant.places)
        )

    def default_intent_in(self, place: Place) -> str | None:
        """The intent of a request in `place` that names none."""
        return self.default_intent.of(place)

    def hosts_of(self, pool: VllmPool) -> tuple[str, ...]:
        """Names of the hosts that run `pool`, sorted."""
        everywhere = self.on_prem.hosts if self.on_prem else {}
        return tuple(sorted(everywhere if pool.hosts is None else pool.hosts))
