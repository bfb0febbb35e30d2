"""Rule: a name that stands for something is the name of something, and everything named is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.problems import Problem


def reference_problems(deployment: DeploymentFields) -> Iterator[Problem]:
    """Names that lead nowhere, and pools and models that nothing leads to."""
    yield from _pools(deployment)
    yield from _tiers(deployment)
    yield from _intents(deployment)
    yield from _served_names(deployment)


def _pools(deployment: DeploymentFields) -> Iterator[Problem]:
    used: set[str] = set()
    for name, pool in deployment.pools.items():
        if pool.kind == "bedrock":
            continue
        used.add(pool.model)
        if pool.model not in deployment.models:
            yield _unknown(f"pools.{name}.model", pool.model, "models", deployment.models)
        if pool.kind == "vllm" and pool.hosts is not None and deployment.on_prem is not None:
            for host in pool.hosts:
                if host not in deployment.on_prem.hosts:
                    yield _unknown(
                        f"pools.{name}.hosts", host, "on_prem.hosts", deployment.on_prem.hosts
                    )
    for key in sorted(set(deployment.models) - used):
        yield Problem(
            f"models.{key}",
            rule="is served by no pool, so it would be built for nobody",
            fix="add a pool with this model, or remove the model",
        )


def _tiers(deployment: DeploymentFields) -> Iterator[Problem]:
    used: set[str] = set()
    for tier, pools in deployment.tiers.items():
        for position, pool in enumerate(pools):
            if pool not in deployment.pools:
                yield _unknown(f"tiers.{tier}", pool, "pools", deployment.pools)
            elif pool in pools[:position]:
                yield Problem(f"tiers.{tier}", rule=f"lists `{pool}` twice", fix="list it once")
        used.update(pools)
    for pool in sorted(set(deployment.pools) - used):
        yield Problem(
            f"pools.{pool}",
            rule="is in no tier, so nothing would ever be sent to it",
            fix="add it to a tier, or remove it",
        )


def _intents(deployment: DeploymentFields) -> Iterator[Problem]:
    for name, intent in deployment.intents.items():
        for field, tier in intent.tiers:
            if tier not in deployment.tiers:
                yield _unknown(f"intents.{name}.{field}", tier, "tiers", deployment.tiers)
        for tool in intent.tools:
            if tool not in deployment.tools:
                yield _unknown(f"intents.{name}.tools", tool, "tools", deployment.tools)
    for place in deployment.places:
        default = deployment.default_intent_in(place)
        offered = deployment.intents_in(place)
        if default is None:
            yield Problem(
                f"default_intent.{place.value}",
                rule=f"is missing, but the deployment serves from {place.value}",
                fix=f"name one of {', '.join(offered) or 'the intents'}",
            )
        elif default not in deployment.intents:
            yield _unknown("default_intent", default, "intents", deployment.intents)
        elif default not in offered:
            yield Problem(
                "default_intent",
                rule=f"`{default}` is not offered in {place.value}",
                fix="name an intent per place, as in `default_intent: {on_prem: lookup, aws: "
                "market}`",
            )


def _served_names(deployment: DeploymentFields) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for key, model in deployment.models.items():
        first = seen.setdefault(model.serving.served_name, key)
        if first != key:
            yield Problem(
                f"models.{key}.serving.served_name",
                rule=f"`{model.serving.served_name}` is also the served name of models.{first}",
                fix="give every model a served name of its own",
            )


def _unknown(where: str, name: str, section: str, known: Collection[str]) -> Problem:
    return Problem(
        where,
        rule=f"names `{name}`, which is not in `{section}`",
        fix=f"write one of {', '.join(sorted(known))}, or add `{section}.{name}`"
        if known
        else f"add `{section}.{name}`",
    )
