"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.lock import DeploymentLock, lock_path_for, read_lock
from model_packaging.errors import LockStale
from model_packaging.package.manifest import Manifest
from model_packaging.package.store import Store

deployment_argument = click.argument(
    "deployment_path", metavar="DEPLOYMENT", type=click.Path(path_type=Path)
)
store_option = click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of packages (default: `store` of the deployment).",
)
lock_option = click.option(
    "--lock",
    "lock_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Lock file (default: beside the deployment, *.lock.json).",
)
tracking_option = click.option(
    "--tracking-uri",
    metavar="URI",
    help="Address of the MLflow server (default: MLFLOW_TRACKING_URI).",
)


def open_store(deployment: Deployment, store_path: Path | None) -> Store:
    """The store that an option or the deployment names."""
    return Store(store_path or Path(deployment.store))


def read_locked(
    deployment_path: Path, *, store_path: Path | None, lock_path: Path | None
) -> tuple[Deployment, DeploymentLock, dict[str, Manifest]]:
    """A deployment with its lock and the manifests that the lock names.

    Raises DeploymentInvalid, LockStale, and VerificationFailed for a damaged manifest.
    """
    deployment = load_deployment(deployment_path)
    lock = read_lock(lock_path or lock_path_for(deployment_path), deployment)
    store = open_store(deployment, store_path)
    manifests: dict[str, Manifest] = {}
    for key, model in lock.models.items():
        manifest = store.existing(name=model.package_name, version=model.package_version)
        found = manifest.package_digest if manifest else "no package"
        if manifest is None or found != model.package_digest:
            place = store.package_directory(name=model.package_name, version=model.package_version)
            raise LockStale(
                where=f"models.{key}",
                rule=f"is locked to {model.package_digest}, and {place} holds {found}",
                fix=f"run `package-model build {deployment_path}`",
            )
        manifests[key] = manifest
    return deployment, lock, manifests
