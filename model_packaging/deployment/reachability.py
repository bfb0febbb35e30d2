"""Rule: every request that is admitted has a pool that may see it, and no pool sees too much.

The request path removes pools that may not see a request's label. These rules make sure, before
anything is deployed, that this never leaves an intent without a pool, and that no pool is trusted
with more than its kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.labels import Label
from model_packaging.deployment.places import Place, kinds_in
from model_packaging.deployment.problems import Problem


def reachability_problems(deployment: DeploymentFields) -> Iterator[Problem]:
    """Pools that are trusted too far, and what some label would leave without a pool."""
    yield from _ceilings(deployment)
    for place in deployment.places:
        for intent in deployment.intents_in(place):
            empty = list(_empty_tiers(deployment, intent, place))
            yield from empty
            if not empty:
                yield from _tools(deployment, intent, place)
                yield from _floors(deployment, intent, place)


def _ceilings(deployment: DeploymentFields) -> Iterator[Problem]:
    for name, pool in deployment.pools.items():
        ceiling = deployment.data.may_hold.of(pool.kind)
        if pool.may_hold is not None and not pool.may_hold.may_be_held_up_to(ceiling):
            yield Problem(
                f"pools.{name}.may_hold",
                rule=f"is {pool.may_hold.value}, above data.may_hold.{pool.kind} "
                f"({ceiling.value}): a pool can only lower what its kind may hold",
                fix=f"set it to {ceiling.value} or lower, or remove it",
            )


def _empty_tiers(deployment: DeploymentFields, intent: str, place: Place) -> Iterator[Problem]:
    for field, tier in deployment.intents[intent].tiers:
        if not deployment.tier_in(tier, place):
            others = ", ".join(p.value for p in deployment.intent_places(intent) if p is not place)
            yield Problem(
                f"intents.{intent}.{field}",
                rule=f"tier `{tier}` has no pool in {place.value}, where this intent is offered",
                fix=f"add a {' or '.join(kinds_in(place))} pool to tiers.{tier}"
                + (f", or set intents.{intent}.places to [{others}]" if others else ""),
            )


def _tools(deployment: DeploymentFields, intent: str, place: Place) -> Iterator[Problem]:
    for tool in deployment.intents[intent].tools:
        label = deployment.tools[tool].label
        short = _tiers_short_of(deployment, label, intent, place)
        if short:
            yield Problem(
                f"intents.{intent}.tools",
                rule=f"offers `{tool}`, whose results are {label.value}, but in {place.value} "
                f"{_sentence(short)}",
                fix=f"remove `{tool}` from the intent, leave {place.value} out of "
                f"intents.{intent}.places, or add a pool that may hold {label.value} to "
                f"{_names(short)}",
            )


def _floors(deployment: DeploymentFields, intent: str, place: Place) -> Iterator[Problem]:
    for tenant in deployment.tenants_in(place):
        floor = deployment.tenants[tenant].floor
        short = _tiers_short_of(deployment, floor, intent, place)
        if short:
            yield Problem(
                f"tenants.{tenant}.floor",
                rule=f"is {floor.value}, but in {place.value} {_sentence(short)}, so intent "
                f"`{intent}` could never answer them",
                fix=f"remove tenants.{tenant}.{place.value}, leave {place.value} out of "
                f"intents.{intent}.places, or add a pool that may hold {floor.value} to "
                f"{_names(short)}",
            )


def _tiers_short_of(
    deployment: DeploymentFields, label: Label, intent: str, place: Place
) -> dict[str, Label]:
    """The tiers of `intent` that cannot take `label` in `place`, with the most they may hold."""
    held = {
        tier: deployment.highest_held(tier, place) for _, tier in deployment.intents[intent].tiers
    }
    return {
        tier: ceiling
        for tier, ceiling in held.items()
        if ceiling is not None and not label.may_be_held_up_to(ceiling)
    }


def _sentence(short: dict[str, Label]) -> str:
    return " and ".join(
        f"no pool of tier `{tier}` may hold more than {ceiling.value}"
        for tier, ceiling in short.items()
    )


def _names(short: dict[str, Label]) -> str:
    return " and ".join(f"tiers.{tier}" for tier in short)
