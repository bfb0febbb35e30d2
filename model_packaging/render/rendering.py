"""Deployment + lock + manifests -> every file that a place reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.lock import DeploymentLock
from model_packaging.deployment.places import Place
from model_packaging.package.manifest import Manifest
from model_packaging.render.arguments import engine_arguments
from model_packaging.render.container_environment import container_environment
from model_packaging.render.fitting import check_packages
from model_packaging.render.plans import request_plan
from model_packaging.render.prompts import prompt_bytes, prompt_path
from model_packaging.render.serve_yaml import serve_yaml

Rendered = Mapping[str, bytes]
"""Path relative to the rendered folder -> the file's bytes, sorted by path."""


def render(
    deployment: Deployment, lock: DeploymentLock, manifests: Mapping[str, Manifest]
) -> Rendered:
    """Every file of both places. Pure: equal inputs give equal bytes.

    `manifests` are by model key. Raises `LockStale` where they are not the locked ones, and
    `DeploymentInvalid` where a package cannot do what the deployment asks.
    """
    check_packages(deployment, lock, manifests)
    files: dict[str, bytes] = {}
    for place in deployment.places:
        for model in served_models(deployment, place):
            path, content = _engine_file(deployment, model, place)
            files[path] = content
        files[f"{place.value}/request_plan.json"] = _json(request_plan(deployment, lock, place))
    for intent in deployment.intents:
        files[prompt_path(intent)] = prompt_bytes(deployment, intent)
    return MappingProxyType({path: files[path] for path in sorted(files)})


def served_models(deployment: Deployment, place: Place) -> tuple[str, ...]:
    """Keys of the models that an engine of `place` serves, sorted."""
    pools = (deployment.pools[name] for name in deployment.pools_in(place))
    return tuple(sorted({pool.model for pool in pools if pool.kind != "bedrock"}))


def _engine_file(deployment: Deployment, model: str, place: Place) -> tuple[str, bytes]:
    arguments = engine_arguments(deployment, model, place)
    if place is Place.ON_PREM:
        return f"on_prem/serve/{model}.yaml", serve_yaml(arguments)
    environment = container_environment(arguments, where=f"models.{model}.serving")
    return f"aws/environment/{model}.json", _json(environment)


def _json(value: Any) -> bytes:
    # Indented, since people read and compare these files; sorted, so that equal is equal.
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
