"""Rule: what a place is asked to do, the place can do."""

from __future__ import annotations

from collections.abc import Iterator

from model_packaging.deployment.container import ENGINE_OF_RELEASE, release_for
from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.models import Serving
from model_packaging.deployment.places import Place
from model_packaging.deployment.pools import VllmPool, place_of
from model_packaging.deployment.problems import Problem


def placement_problems(deployment: DeploymentFields) -> Iterator[Problem]:
    """Pools, tenants, tools, ports, versions and limits that their place cannot honour."""
    if not deployment.places:
        yield Problem(
            "on_prem",
            rule="is missing, and so is `aws`: the deployment is nowhere",
            fix="add `on_prem`, `aws`, or both",
        )
        return
    yield from _absent_places(deployment)
    yield from _identities(deployment)
    yield from _transports(deployment)
    yield from _ports(deployment)
    yield from _container(deployment)
    yield from _limits(deployment)
    yield from _parsers(deployment)


def _absent_places(deployment: DeploymentFields) -> Iterator[Problem]:
    for name, pool in deployment.pools.items():
        place = place_of(pool)
        if place not in deployment.places:
            yield Problem(
                f"pools.{name}.kind",
                rule=f"is `{pool.kind}`, a pool of {place.value}, which this deployment does not "
                "serve from",
                fix=f"add the section `{place.value}`, or remove the pool",
            )
    for name, intent in deployment.intents.items():
        for place in intent.places or ():
            if place not in deployment.places:
                yield Problem(
                    f"intents.{name}.places",
                    rule=f"names {place.value}, which this deployment does not serve from",
                    fix=f"add the section `{place.value}`, or remove it from the list",
                )


def _identities(deployment: DeploymentFields) -> Iterator[Problem]:
    seen: dict[tuple[Place, str], str] = {}
    for name, tenant in deployment.tenants.items():
        for place in tenant.places:
            if place not in deployment.places:
                yield Problem(
                    f"tenants.{name}.{place.value}",
                    rule=f"is an identity in {place.value}, which this deployment does not serve "
                    "from",
                    fix=f"add the section `{place.value}`, or remove the identity",
                )
            identity = tenant.identity_in(place) or ""
            first = seen.setdefault((place, identity), name)
            if first != name:
                yield Problem(
                    f"tenants.{name}.{place.value}",
                    rule=f"is the same identity as tenants.{first}, so the two could not be told "
                    "apart",
                    fix="give each tenant an identity of its own",
                )


def _transports(deployment: DeploymentFields) -> Iterator[Problem]:
    if Place.ON_PREM not in deployment.places:
        return
    for name in deployment.intents_in(Place.ON_PREM):
        for tool in deployment.intents[name].tools:
            known = deployment.tools.get(tool)
            if known is not None and known.transport_in(Place.ON_PREM).kind == "lambda":
                yield Problem(
                    f"intents.{name}.tools",
                    rule=f"offers `{tool}` on_prem, but it is a Lambda function, which hosts "
                    "cannot reach",
                    fix=f"add tools.{tool}.transport_overrides.on_prem, or offer the intent on aws "
                    "only",
                )


def _ports(deployment: DeploymentFields) -> Iterator[Problem]:
    if deployment.on_prem is None:
        return
    taken = {
        (host, deployment.on_prem.gateway.port): "on_prem.gateway"
        for host in deployment.on_prem.hosts
    }
    port_of: dict[str, tuple[str, int]] = {}
    for name, pool in deployment.pools.items():
        if not isinstance(pool, VllmPool):
            continue
        other, port = port_of.setdefault(pool.model, (name, pool.port))
        if port != pool.port:
            yield Problem(
                f"pools.{name}.port",
                rule=f"is {pool.port}, but pools.{other} serves models.{pool.model} on {port}: one "
                "file of engine arguments is rendered per model",
                fix=f"use {port} in both",
            )
        for host in deployment.hosts_of(pool):
            first = taken.setdefault((host, pool.port), f"pools.{name}")
            if first != f"pools.{name}":
                yield Problem(
                    f"pools.{name}.port",
                    rule=f"{pool.port} is taken by {first} on host `{host}`",
                    fix="choose another port, or other hosts",
                )


def _container(deployment: DeploymentFields) -> Iterator[Problem]:
    if deployment.aws is None:
        return
    stated = deployment.aws.container_release
    for key in sorted({p.model for p in deployment.pools.values() if p.kind == "sagemaker"}):
        if key not in deployment.models:
            continue
        version = deployment.models[key].serving.engine.version_in(Place.AWS)
        carried = ENGINE_OF_RELEASE.get(stated or release_for(version) or "")
        if stated is None and carried is None:
            yield Problem(
                f"models.{key}.serving.engine.version",
                rule=f"vLLM {version} is in no release of AWS's image that is known here",
                fix=f"use one of {', '.join(sorted(set(ENGINE_OF_RELEASE.values())))}, or name the "
                "image's release in aws.container_release",
            )
        elif carried is not None and carried != version:
            yield Problem(
                "aws.container_release",
                rule=f"{stated} carries vLLM {carried}, but models.{key} asks for {version}",
                fix=f"set models.{key}.serving.engine to {carried}, or choose another release",
            )


def _limits(deployment: DeploymentFields) -> Iterator[Problem]:
    for name, tool in deployment.tools.items():
        if tool.time_limit_ms > deployment.deadline.max_ms:
            yield Problem(
                f"tools.{name}.time_limit_ms",
                rule=f"is {tool.time_limit_ms}, above deadline.max_ms "
                f"({deployment.deadline.max_ms})",
                fix="lower it: no request lives that long",
            )
    for name, intent in deployment.intents.items():
        for field, tier, tokens in (
            ("max_tokens", intent.tier, intent.max_tokens),
            ("answer.max_tokens", intent.answer.tier, intent.answer.max_tokens),
        ):
            for pool_name, serving in _engines_of(deployment, tier):
                if tokens >= serving.max_model_len:
                    yield Problem(
                        f"intents.{name}.{field}",
                        rule=f"is {tokens}, but `{pool_name}` has room for {serving.max_model_len} "
                        "tokens, prompt included",
                        fix="lower it, or raise the model's max_model_len",
                    )


def _parsers(deployment: DeploymentFields) -> Iterator[Problem]:
    for name, intent in deployment.intents.items():
        for pool_name, serving in _engines_of(deployment, intent.tier):
            model = f"models.{_model_of(deployment, pool_name)}"
            if intent.reasoning and serving.reasoning_parser is None:
                yield Problem(
                    f"intents.{name}.reasoning",
                    rule=f"is true, but {model}, which `{pool_name}` serves, has no "
                    "reasoning_parser: its reasoning would be shown as the answer",
                    fix=f"set {model}.serving.reasoning_parser, or reasoning to false",
                )
            if intent.tools and serving.tool_call_parser is None:
                yield Problem(
                    f"intents.{name}.tools",
                    rule=f"offers tools, but {model}, which `{pool_name}` serves, has no "
                    "tool_call_parser: its engine would refuse the request",
                    fix=f"set {model}.serving.tool_call_parser, or offer no tools",
                )


def _engines_of(deployment: DeploymentFields, tier: str) -> Iterator[tuple[str, Serving]]:
    """The pools of `tier` that run our own engine, with its settings."""
    for name in deployment.tiers[tier]:
        model = _model_of(deployment, name)
        if model is not None:
            yield name, deployment.models[model].serving


def _model_of(deployment: DeploymentFields, pool_name: str) -> str | None:
    pool = deployment.pools[pool_name]
    return None if pool.kind == "bedrock" else pool.model
