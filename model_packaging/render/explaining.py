"""Say what a deployment means: who may see what, where a request may go, what each engine runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.labels import Label
from model_packaging.deployment.lock import DeploymentLock
from model_packaging.deployment.places import Place
from model_packaging.render.explanation_text import text_of
from model_packaging.render.parity import (
    ALLOWED,
    arguments_in,
    container_release,
    differences,
    unexplained,
)
from model_packaging.render.rendering import served_models


@dataclass(frozen=True, slots=True)
class Explanation:
    """The same facts twice: `text` for a reader, `data` for `--json`."""

    text: str
    data: dict[str, Any]


def explain(deployment: Deployment, lock: DeploymentLock | None = None) -> Explanation:
    """Explain `deployment`; with a lock, also which packages it would serve."""
    data = {
        "deployment": deployment.name,
        "places": [place.value for place in deployment.places],
        "packages": _packages(lock),
        "pools": {place.value: _pools(deployment, place) for place in deployment.places},
        "tenants": _tenants(deployment),
        "reach": {place.value: _reach(deployment, place) for place in deployment.places},
        "notes": list(_notes(deployment)),
        "engines": {place.value: _engines(deployment, place) for place in deployment.places},
        "parity": {model: _parity(deployment, model) for model in _models_in_both(deployment)},
    }
    return Explanation(text_of(data), data)


def _packages(lock: DeploymentLock | None) -> dict[str, Any]:
    if lock is None:
        return {}
    return {key: model.model_dump(mode="json") for key, model in sorted(lock.models.items())}


def _pools(deployment: Deployment, place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in deployment.pools_in(place):
        pool = deployment.pools[name]
        found[name] = {
            "kind": pool.kind,
            "may_hold": deployment.may_hold(name).value,
            "serves": pool.target if pool.kind == "bedrock" else pool.model,
        }
    return found


def _tenants(deployment: Deployment) -> dict[str, Any]:
    return {
        name: {"floor": tenant.floor.value, "places": [place.value for place in tenant.places]}
        for name, tenant in sorted(deployment.tenants.items())
    }


def _reach(deployment: Deployment, place: Place) -> dict[str, Any]:
    """Per intent and label: the pools that may be asked, in order, for each step."""

    def pools(tier: str, label: Label) -> list[str]:
        return [
            pool
            for pool in deployment.tier_in(tier, place)
            if label.may_be_held_up_to(deployment.may_hold(pool))
        ]

    return {
        name: {
            "default": name == deployment.default_intent_in(place),
            "tools": {
                tool: deployment.tools[tool].label.value
                for tool in sorted(deployment.intents[name].tools)
            },
            "labels": {
                label.value: {
                    "picks_tools": pools(deployment.intents[name].tier, label),
                    "answers": pools(deployment.intents[name].answer.tier, label),
                }
                for label in Label
            },
        }
        for name in deployment.intents_in(place)
    }


def _engines(deployment: Deployment, place: Place) -> dict[str, Any]:
    return {
        model: {
            "version": deployment.models[model].serving.engine.version_in(place),
            "container_release": (
                container_release(deployment, model) if place is Place.AWS else None
            ),
            "arguments": list(arguments_in(deployment, model, place)),
        }
        for model in served_models(deployment, place)
    }


def _models_in_both(deployment: Deployment) -> tuple[str, ...]:
    aws = served_models(deployment, Place.AWS)
    return tuple(model for model in served_models(deployment, Place.ON_PREM) if model in aws)


def _parity(deployment: Deployment, model: str) -> dict[str, Any]:
    found = differences(deployment, model)
    return {
        "same": not unexplained(found),
        "allowed_everywhere": sorted(ALLOWED),
        "differences": [asdict(difference) for difference in found],
    }


def _notes(deployment: Deployment) -> Iterator[str]:
    unlabelled = deployment.data.unlabelled
    if unlabelled is not Label.C4:
        yield (
            f"data.unlabelled is {unlabelled.value}: a caller that declares nothing may be sending "
            "more confidential data than that"
        )
    for place in deployment.places:
        reach = _reach(deployment, place)
        if reach and not any(r["labels"][unlabelled.value]["picks_tools"] for r in reach.values()):
            yield (
                f"in {place.value}, a request that declares no label is refused: it counts as "
                f"{unlabelled.value}, and no pool there may hold that"
            )
    for model in _models_in_both(deployment):
        engine = deployment.models[model].serving.engine
        versions = {place: engine.version_in(place) for place in Place}
        if len(set(versions.values())) > 1:
            stated = ", ".join(f"{v} in {p.value}" for p, v in versions.items())
            yield (
                f"models.{model} runs vLLM {stated}: releases differ in what a named tool choice "
                "yields, so the parity suite must pass on both"
            )
