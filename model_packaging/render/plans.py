"""The request plan: what the request path of one place knows. Schema `perimeter.request_plan/1`.

A plan holds pools, tenants, intents and tools of its own place only, no secret, and nothing that
exists only after a deploy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.labels import ORDER
from model_packaging.deployment.lock import DeploymentLock
from model_packaging.deployment.on_prem import Host
from model_packaging.deployment.places import Place
from model_packaging.deployment.pools import BedrockPool, SageMakerPool, VllmPool
from model_packaging.render.prompts import prompt_path, prompt_sha256

SCHEMA = "perimeter.request_plan/1"


def request_plan(deployment: Deployment, lock: DeploymentLock, place: Place) -> dict[str, Any]:
    """The plan of `place`, as JSON values."""
    intents = deployment.intents_in(place)
    offered = sorted({tool for name in intents for tool in deployment.intents[name].tools})
    tiers = {tier: list(deployment.tier_in(tier, place)) for tier in deployment.tiers}
    return {
        "schema": SCHEMA,
        "deployment": deployment.name,
        "place": place.value,
        "labels": {"order": list(ORDER), "unlabelled": deployment.data.unlabelled.value},
        "deadline": deployment.deadline.model_dump(),
        "tenants": {
            name: {"floor": deployment.tenants[name].floor.value}
            for name in deployment.tenants_in(place)
        },
        "default_intent": deployment.default_intent_in(place),
        "intents": {name: _intent(deployment, name) for name in intents},
        "tiers": {tier: pools for tier, pools in tiers.items() if pools},
        "pools": {name: _pool(deployment, lock, name) for name in deployment.pools_in(place)},
        "tools": {name: _tool(deployment, name, place) for name in offered},
    }


def _intent(deployment: Deployment, name: str) -> dict[str, Any]:
    intent = deployment.intents[name]
    whole = intent.temperature == int(intent.temperature)
    return {
        "tier": intent.tier,
        "reasoning": intent.reasoning,
        "tools": sorted(intent.tools),
        "max_tokens": intent.max_tokens,
        "max_tool_rounds": intent.max_tool_rounds,
        "temperature": int(intent.temperature) if whole else intent.temperature,
        "answer": intent.answer.model_dump(),
        "prompt": prompt_path(name),
        "prompt_sha256": prompt_sha256(deployment, name),
    }


def _pool(deployment: Deployment, lock: DeploymentLock, name: str) -> dict[str, Any]:
    pool = deployment.pools[name]
    common: dict[str, Any] = {
        "kind": pool.kind,
        "may_hold": deployment.may_hold(name).value,
        "budgets": pool.budgets.model_dump(),
    }
    match pool:
        case BedrockPool():
            return {**common, "profile": pool.target}
        case SageMakerPool():
            return {**common, **_served(deployment, lock, pool.model)}
        case VllmPool():
            return {
                **common,
                **_served(deployment, lock, pool.model),
                "replicas": _replicas(deployment, pool),
            }


def _served(deployment: Deployment, lock: DeploymentLock, model: str) -> Mapping[str, str]:
    return {
        "served_name": deployment.models[model].serving.served_name,
        "weights_digest": lock.models[model].weights_digest,
    }


def _replicas(deployment: Deployment, pool: VllmPool) -> list[dict[str, str]]:
    hosts = deployment.on_prem.hosts if deployment.on_prem else {}
    return [
        {"name": name, "url": _url(hosts[name], pool.port)} for name in deployment.hosts_of(pool)
    ]


def _url(host: Host, port: int) -> str:
    """Address of an engine: in clear on this machine, through the host's TLS front elsewhere."""
    scheme = "http" if host.is_loopback else "https"
    address = f"[{host.address}]" if ":" in host.address else host.address
    return f"{scheme}://{address}:{port}"


def _tool(deployment: Deployment, name: str, place: Place) -> dict[str, Any]:
    tool = deployment.tools[name]
    return {
        "label": tool.label.value,
        "transport": tool.transport_in(place).model_dump(),
        "time_limit_ms": tool.time_limit_ms,
        "side_effects": tool.side_effects,
        "parameters": dict(tool.parameters),
    }
