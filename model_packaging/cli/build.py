"""`package-model build`."""

from __future__ import annotations

from pathlib import Path

import click

from model_packaging.cli.options import (
    deployment_argument,
    lock_option,
    open_store,
    store_option,
    tracking_option,
)
from model_packaging.cli.output import EXIT_CODES, Result, reporting, table
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.lock import (
    DeploymentLock,
    LockedModel,
    lock_path_for,
    write_lock,
)
from model_packaging.package.building import build_package, check_package_name
from model_packaging.package.manifest import Manifest
from model_packaging.package.store import Store
from model_packaging.package.verifying import verify_package
from model_packaging.progress import Progress
from model_packaging.sources.registry import Registry
from model_packaging.sources.resolved import ResolvedSource


@click.command(epilog=EXIT_CODES, short_help="Registry -> packages in the store, and the lock.")
@deployment_argument
@store_option
@lock_option
@tracking_option
@click.option(
    "--fresh",
    is_flag=True,
    help="Download again what is already in the store, and compare.",
)
@reporting
def build(
    *,
    progress: Progress,
    deployment_path: Path,
    store_path: Path | None,
    lock_path: Path | None,
    tracking_uri: str | None,
    fresh: bool,
) -> Result:
    """Bring every model of DEPLOYMENT into the store and write the lock.

    An alias is resolved once, before anything is downloaded. The lock is written when every model
    is in the store, so a failing build leaves the old one.
    """
    deployment = load_deployment(deployment_path)
    store = open_store(deployment, store_path)
    registry = Registry(tracking_uri)
    resolved = {key: registry.resolve(model.source) for key, model in deployment.models.items()}
    for key, source in resolved.items():
        check_package_name(source)
        progress.note(f"{key}: {source.uri} is {source.pinned}")
    manifests = {
        key: _bring(source, registry, store, progress, fresh=fresh)
        for key, source in resolved.items()
    }
    for source in resolved.values():
        registry.confirm(source)
    lock = DeploymentLock(
        schema="perimeter.lock/1",
        deployment=deployment.name,
        models={key: _locked(resolved[key], manifest) for key, manifest in manifests.items()},
    )
    path = lock_path or lock_path_for(deployment_path)
    write_lock(path, lock)
    places = {
        key: store.package_directory(name=manifest.name, version=manifest.version)
        for key, manifest in manifests.items()
    }
    parts = [
        f"{key}\n{table(_shown(resolved[key], manifest, places[key]), indent='  ')}"
        for key, manifest in manifests.items()
    ]
    models = {key: model.model_dump(mode="json") for key, model in lock.models.items()}
    return Result(
        text="\n".join([*parts, f"lock {path}"]),
        data={
            "deployment": deployment.name,
            "lock": str(path),
            "models": {key: {**models[key], "directory": str(places[key])} for key in models},
        },
    )


def _bring(
    source: ResolvedSource,
    registry: Registry,
    store: Store,
    progress: Progress,
    *,
    fresh: bool,
) -> Manifest:
    present = store.existing(name=source.name, version=source.version)
    # The registry gives each logged model an id of its own. A run's artifacts have none and may
    # have changed, so they are always downloaded.
    known = present is not None and source.model_id not in (None, "")
    if present is not None and known and present.source.model_id == source.model_id and not fresh:
        directory = store.package_directory(name=source.name, version=source.version)
        progress.note(f"in the store already: {directory} (--fresh downloads and compares)")
        return verify_package(directory, progress)
    with store.staging() as stage:
        download = stage / "download"
        download.mkdir()
        registry.artifacts(source).download(download, progress)
        return build_package(source, download, store, progress, confirm=registry.confirm)


def _locked(source: ResolvedSource, manifest: Manifest) -> LockedModel:
    return LockedModel(
        source_requested=source.uri,
        registered_model=source.registered_model,
        version=source.registered_version,
        model_id=source.model_id,
        run_id=source.run_id,
        package_name=manifest.name,
        package_version=manifest.version,
        package_digest=manifest.package_digest,
        model_digest=manifest.model_digest,
        weights_digest=manifest.weights_digest,
    )


def _shown(source: ResolvedSource, manifest: Manifest, place: Path) -> dict[str, object]:
    return {
        "source": f"{source.uri} -> {source.pinned}",
        "aliases": ", ".join(source.aliases_seen) or "none",
        "package": place,
        "package_digest": manifest.package_digest,
        "model_digest": manifest.model_digest,
        "weights_digest": manifest.weights_digest,
    }
