"""Do both places start the engine with the same arguments?

Compared is what each place's own software makes of what it is given: vLLM of serve.yaml, AWS's
container of its environment. A difference needs a reason from the list here or from the
deployment's `engine_overrides`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model_packaging.deployment.container import release_for
from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.places import Place
from model_packaging.render.arguments import engine_arguments, model_path
from model_packaging.render.container_environment import container_environment
from model_packaging.render.container_rules import container_arguments, rules_of
from model_packaging.render.serve_yaml import serve_arguments, serve_yaml

ALLOWED: Mapping[str, str] = {
    "host": "hosts listen on loopback behind their own front; the container must be reachable",
    "port": "the container's port is fixed at 8080; a host's port belongs to the pool",
    "model": "the same package lies at another path",
    "api-key": "hosts check the gateway's key; SageMaker checks the caller before the container",
    "shutdown-timeout": "hosts drain on SIGTERM; how a container is stopped is SageMaker's own "
    "affair",
    "otlp-traces-endpoint": "each place has a collector of its own",
    "middleware": "AWS's image adds its own router; it is not ours to choose",
}
"""The only arguments that may differ in every deployment, and why."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An argument that differs. None stands for a place that does not set it."""

    name: str
    on_prem: tuple[str, ...] | None
    aws: tuple[str, ...] | None
    reason: str | None
    """Why it may differ; None means that it may not."""


def arguments_in(deployment: Deployment, model: str, place: Place) -> tuple[str, ...]:
    """What the engine of `model` is started with in `place`, as that place's software makes it."""
    arguments = engine_arguments(deployment, model, place)
    if place is Place.ON_PREM:
        return serve_arguments(serve_yaml(arguments))
    environment = container_environment(arguments, where=f"models.{model}.serving")
    return container_arguments(environment, rules=rules_of(container_release(deployment, model)))


def container_release(deployment: Deployment, model: str) -> str:
    """The release of AWS's image that serves `model`: the stated one, or the newest that fits."""
    stated = deployment.aws.container_release if deployment.aws else None
    version = deployment.models[model].serving.engine.version_in(Place.AWS)
    # A deployment with a version that no known release carries does not load without one stated.
    return stated or release_for(version) or "0.0"


def differences(deployment: Deployment, model: str) -> tuple[Difference, ...]:
    """Every argument of `model` that differs between the places, sorted by name."""
    on_prem = _grouped(deployment, model, Place.ON_PREM)
    aws = _grouped(deployment, model, Place.AWS)
    overrides = deployment.models[model].serving.engine_overrides
    stated: dict[str, list[str]] = {}
    for place in Place:
        for name in overrides.of(place):
            field = f"models.{model}.serving.engine_overrides.{place.value}"
            stated.setdefault(name.replace("_", "-"), []).append(field)
    found = []
    for name in sorted(on_prem.keys() | aws.keys()):
        if on_prem.get(name) != aws.get(name):
            # A flag that is off is `no-<flag>`; no argument of vLLM's own starts that way.
            reason = ALLOWED.get(name) or ", ".join(stated.get(name.removeprefix("no-"), ()))
            found.append(Difference(name, on_prem.get(name), aws.get(name), reason or None))
    return tuple(found)


def unexplained(found: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences that nobody allowed."""
    return tuple(difference for difference in found if difference.reason is None)


def _grouped(deployment: Deployment, model: str, place: Place) -> dict[str, tuple[str, ...]]:
    """Values by flag. The model's own folder is written `<model>`, wherever it lies."""
    path = model_path(deployment, model, place)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for token in arguments_in(deployment, model, place):
        if token.startswith("--"):
            current = found.setdefault(token.removeprefix("--"), [])
        else:
            current.append(token.replace(f"{path}/", "<model>/"))
    return {name: tuple(values) for name, values in found.items()}
