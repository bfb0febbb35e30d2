"""The lock beside a deployment file: which version of each model was built, and its digests.

`package-model build` is the only writer. Everything else reads, and refuses a lock that was written
for another state of the deployment file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.section import Digest, Name, Section
from model_packaging.errors import LockStale

_Text = Annotated[str, StringConstraints(min_length=1)]


class LockedModel(Section):
    """What one model's `source` stood for when it was built."""

    source_requested: _Text = Field(description="`source` as the deployment file had it.")
    registered_model: _Text | None = Field(description="Name in the registry, if it has one.")
    version: _Text | None = Field(description="Version in the registry, if it has one.")
    model_id: _Text | None = Field(description="Id of the logged model, if the registry knows it.")
    run_id: _Text | None = Field(description="Id of the run that logged it, if any.")
    package_name: _Text = Field(description="Name of the package in the store.")
    package_version: _Text = Field(description="Version of the package in the store.")
    package_digest: Digest = Field(description="Digest of the package's manifest.")
    model_digest: Digest = Field(description="Digest of the model's file tree.")
    weights_digest: Digest = Field(description="Digest of the tensors, whatever their files.")


class DeploymentLock(Section):
    """All models of one deployment."""

    schema_: Literal["perimeter.lock/1"] = Field(
        default="perimeter.lock/1", alias="schema", description="Format of this file."
    )
    deployment: _Text = Field(description="Name of the deployment.")
    models: Mapping[Name, LockedModel] = Field(description="Locked models by key.")

    def to_bytes(self) -> bytes:
        """The canonical bytes: sorted keys, indented by two, a newline at the end."""
        value = self.model_dump(mode="json", by_alias=True)
        return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def lock_path_for(deployment_path: Path) -> Path:
    """`deployments/demo.yaml` -> `deployments/demo.lock.json`."""
    return deployment_path.with_name(f"{deployment_path.stem}.lock.json")


def read_lock(path: Path, deployment: DeploymentFields) -> DeploymentLock:
    """The lock in `path`.

    Raises `LockStale` where it is missing, unreadable, or says anything else than `deployment` asks
    for.
    """
    build = f"package-model build {path.with_name(path.name.removesuffix('.lock.json'))}.yaml"
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise LockStale(
            where=str(path),
            rule="there is no lock file: nothing was built yet",
            fix=f"run `{build}`",
        ) from None
    try:
        lock = DeploymentLock.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise LockStale(
            where=str(path), rule=f"{field}: {first['msg'].lower()}", fix=f"run `{build}` again"
        ) from None
    stale = _difference(lock, deployment)
    if stale is not None:
        where, rule = stale
        raise LockStale(where=f"{path}: {where}", rule=rule, fix=f"run `{build}` again")
    return lock


def write_lock(path: Path, lock: DeploymentLock) -> None:
    """Replace the file at `path` in one step; a reader sees the old lock or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(lock.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp makes it 0600, and the lock is read by other users
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _difference(lock: DeploymentLock, deployment: DeploymentFields) -> tuple[str, str] | None:
    if lock.deployment != deployment.name:
        return "deployment", f"is `{lock.deployment}`, but the deployment is `{deployment.name}`"
    missing = sorted(set(deployment.models) - set(lock.models))
    if missing:
        return f"models.{missing[0]}", "is not locked: it was added after the last build"
    extra = sorted(set(lock.models) - set(deployment.models))
    if extra:
        return f"models.{extra[0]}", "is locked, but the deployment no longer has it"
    for key, model in sorted(deployment.models.items()):
        locked = lock.models[key].source_requested
        if locked != model.source:
            return (
                f"models.{key}.source_requested",
                f"is `{locked}`, but the deployment asks for `{model.source}`",
            )
    return None
