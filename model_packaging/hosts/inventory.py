"""What Ansible knows of a deployment: hosts, groups and variables, from the file and its lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.lock import DeploymentLock, LockedModel, lock_path_for, read_lock
from model_packaging.deployment.on_prem import Host, OnPrem
from model_packaging.deployment.places import Place
from model_packaging.deployment.pools import VllmPool
from model_packaging.deployment.tools import HttpTransport
from model_packaging.errors import DeploymentInvalid
from model_packaging.package.store import Store

SECRETS = "/etc/perimeter/secrets"
"""Where a host holds what a `vault:` or `secretsmanager:` reference stands for."""

FRONT_PORT = 443
"""Where callers reach the gateway of a host, over TLS."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Variables hold for every host, `hosts` for one; `groups` name hosts, sorted."""

    variables: Mapping[str, Any]
    hosts: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, tuple[str, ...]]


def inventory_of(deployment_path: Path) -> Inventory:
    """The inventory of a deployment file and the lock beside it.

    Relative paths of the file count from the working directory, as for `package-model`. Raises
    `DeploymentInvalid`, also for a deployment without hosts, and `LockStale`.
    """
    deployment = load_deployment(deployment_path)
    if deployment.on_prem is None:
        raise DeploymentInvalid(
            where=f"{deployment_path}: on_prem",
            rule="is not there, so this deployment has no hosts to provision",
            fix="add `on_prem` with its hosts, or name another deployment",
        )
    lock = read_lock(lock_path_for(deployment_path), deployment)
    on_prem = deployment.on_prem
    served = {name: _engines(deployment, name) for name in on_prem.hosts}
    return Inventory(
        variables=MappingProxyType(_variables(deployment, on_prem, lock, deployment_path)),
        hosts=MappingProxyType(
            {name: _host(host, served[name]) for name, host in sorted(on_prem.hosts.items())}
        ),
        groups=MappingProxyType(
            {
                "gateway_hosts": tuple(sorted(on_prem.hosts)),
                "engine_hosts": tuple(sorted(name for name, engines in served.items() if engines)),
            }
        ),
    )


def secret_path(reference: str, name: str) -> str:
    """The file on a host that holds a secret: what `file:` names, else one by `name`."""
    kind, _, rest = reference.partition(":")
    return rest if kind == "file" else f"{SECRETS}/{name}"


def _variables(
    deployment: Deployment, on_prem: OnPrem, lock: DeploymentLock, path: Path
) -> dict[str, Any]:
    store = Path(deployment.store).absolute()
    return {
        "perimeter_deployment": deployment.name,
        "perimeter_deployment_file": str(path.absolute()),
        "perimeter_working_folder": str(Path.cwd()),
        "perimeter_packages": {
            key: _package(Store(store), model) for key, model in sorted(lock.models.items())
        },
        # Not rendered/<name> itself, which belongs to whoever calls `package-model render`.
        "perimeter_rendered": str(store.parent / "rendered" / f"{deployment.name}-hosts"),
        # Archives for the hosts, made once on the controller.
        "perimeter_carried": str(store.parent / "carried"),
        "perimeter_model_root": on_prem.model_root,
        "perimeter_wheelhouse": on_prem.wheelhouse,
        "perimeter_gateway_port": on_prem.gateway.port,
        "perimeter_front_port": FRONT_PORT,
        "perimeter_secrets": _secrets(deployment, on_prem),
        "perimeter_clients": {
            tenant: secret_path(identity.client_key, f"clients/{tenant}")
            for tenant in deployment.tenants_in(Place.ON_PREM)
            if (identity := deployment.tenants[tenant].on_prem) is not None
        },
        "perimeter_engine_ports": sorted(
            pool.port for pool in deployment.pools.values() if isinstance(pool, VllmPool)
        ),
        "perimeter_peers": sorted(host.address for host in on_prem.hosts.values()),
        "perimeter_outbound": _tool_addresses(deployment),
    }


def _package(store: Store, model: LockedModel) -> dict[str, str]:
    directory = store.package_directory(name=model.package_name, version=model.package_version)
    return {
        "directory": str(directory),
        "package_digest": model.package_digest,
        "weights_digest": model.weights_digest,
    }


def _secrets(deployment: Deployment, on_prem: OnPrem) -> dict[str, str]:
    found = {"engine_key": secret_path(on_prem.keys.engine_key, "engine_key")}
    if on_prem.tls is not None:
        for name in ("certificate", "key", "authority"):
            found[f"tls_{name}"] = secret_path(getattr(on_prem.tls, name), f"tls_{name}")
    return found


def _tool_addresses(deployment: Deployment) -> list[dict[str, Any]]:
    """Where a gateway calls tools, apart from its own host."""
    intents = (deployment.intents[name] for name in deployment.intents_in(Place.ON_PREM))
    offered = {tool for intent in intents for tool in intent.tools}
    found: set[tuple[str, int]] = set()
    for name in offered:
        transport = deployment.tools[name].transport_in(Place.ON_PREM)
        if isinstance(transport, HttpTransport):
            url = urlsplit(transport.url)
            address = url.hostname or ""
            if not Host(address=address).is_loopback:
                found.add((address, url.port or (443 if url.scheme == "https" else 80)))
    return [{"address": address, "port": port} for address, port in sorted(found)]


def _host(host: Host, engines: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ansible_host": host.address,
        "perimeter_address": host.address,
        "perimeter_engines": engines,
        "perimeter_gpu": host.gpu is not None,
    }
    if host.is_loopback:
        found["ansible_connection"] = "local"
    return found


def _engines(deployment: Deployment, host: str) -> list[dict[str, Any]]:
    """The engines of one host, by model; a model has one engine, whatever pools it serves."""
    found: dict[str, dict[str, Any]] = {}
    for name in deployment.pools_in(Place.ON_PREM):
        pool = deployment.pools[name]
        if isinstance(pool, VllmPool) and host in deployment.hosts_of(pool):
            serving = deployment.models[pool.model].serving
            found[pool.model] = {
                "model": pool.model,
                "port": pool.port,
                "served_name": serving.served_name,
                "engine_version": serving.engine.version,
                "shutdown_timeout_seconds": serving.shutdown_timeout_seconds,
            }
    return [found[model] for model in sorted(found)]
