"""An MLflow server: what an address stands for, and the files behind it.

An alias is resolved once, to a version and the registry's id of its model, before anything is
downloaded; `confirm` asks again at the end. MLflow is imported when the first registry is opened,
so that everything else works without the `release` extra.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from model_packaging.errors import RegistryError
from model_packaging.sources.address import (
    AliasAddress,
    LoggedModelAddress,
    RunAddress,
    VersionAddress,
    parse_address,
)
from model_packaging.sources.artifacts import Artifacts
from model_packaging.sources.resolved import ResolvedSource

if TYPE_CHECKING:
    from mlflow import MlflowClient

_Answer = TypeVar("_Answer")
_GIT_TAGS = ("mlflow.source.git.commit", "git_commit")


class Registry:
    """The tracking server and model registry at one address.

    Raises RegistryError when the `release` extra is missing, when no address is known, and for
    whatever the server cannot answer.
    """

    def __init__(self, tracking_uri: str | None = None) -> None:
        uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        if not uri:
            raise RegistryError(
                where="MLFLOW_TRACKING_URI",
                rule="is not set, so there is no registry to ask",
                fix="set it, or pass --tracking-uri http://HOST:PORT",
            )
        self.tracking_uri = uri
        self._client = _open_client(uri)

    def resolve(self, uri: str) -> ResolvedSource:
        """Pin an address: what it stands for now. Raises RegistryError."""
        address = parse_address(uri)
        if isinstance(address, AliasAddress | VersionAddress):
            return self._resolve_version(address)
        if isinstance(address, LoggedModelAddress):
            logged = self._ask(uri, lambda: self._client.get_logged_model(address.model_id))
            return self._resolve_logged(uri, logged)
        return self._resolve_run(address)

    def confirm(self, resolved: ResolvedSource) -> None:
        """Ask for the same address again. Raises RegistryError when the answer is another one."""
        now = self.resolve(resolved.uri)
        before = (resolved.pinned, resolved.model_id, resolved.artifact_location)
        if (now.pinned, now.model_id, now.artifact_location) != before:
            raise RegistryError(
                where=resolved.uri,
                rule=f"pointed to {_told(resolved)} when the build started and points to "
                f"{_told(now)} now",
                fix="run the build again, or name the version in place of the alias",
            )

    def artifacts(self, resolved: ResolvedSource) -> Artifacts:
        """The files behind a pinned source."""
        return Artifacts(location=resolved.artifact_location, tracking_uri=self.tracking_uri)

    def _resolve_version(self, address: AliasAddress | VersionAddress) -> ResolvedSource:
        client, uri, name = self._client, address.uri, address.name
        if isinstance(address, AliasAddress):
            alias = address.alias
            found = self._ask(uri, lambda: client.get_model_version_by_alias(name, alias))
            number = str(found.version)
        else:
            number = address.version
        version = self._ask(uri, lambda: client.get_model_version(name, number))
        if str(version.status) != "READY":
            raise RegistryError(
                where=uri,
                rule=f"is version {number}, whose status is {version.status}",
                fix="wait until the registration is complete, then build again",
            )
        model_id = version.model_id or _model_id_in(str(version.source or ""))
        location = self._ask(uri, lambda: client.get_model_version_download_uri(name, number))
        return ResolvedSource(
            uri=uri,
            name=name,
            version=number,
            artifact_location=str(location),
            registered_model=name,
            registered_version=number,
            aliases_seen=tuple(sorted(str(alias) for alias in version.aliases)),
            model_id=model_id,
            **self._provenance(uri, version.run_id or None),
        )

    def _resolve_logged(self, uri: str, logged: Any) -> ResolvedSource:
        return ResolvedSource(
            uri=uri,
            name=str(logged.name),
            version=str(logged.model_id),
            artifact_location=str(logged.artifact_location),
            model_id=str(logged.model_id),
            **self._provenance(uri, logged.source_run_id or None),
        )

    def _resolve_run(self, address: RunAddress) -> ResolvedSource:
        uri, client = address.uri, self._client
        run = self._ask(uri, lambda: client.get_run(address.run_id))
        location = f"{run.info.artifact_uri.rstrip('/')}/{address.path}"
        if not Artifacts(location=location, tracking_uri=self.tracking_uri).exists():
            # Since MLflow 3 a model that a run logs lies beside the run, under an id of its own.
            outputs = run.outputs.model_outputs if run.outputs else []
            for model_id in [output.model_id for output in outputs]:
                logged = self._ask(uri, partial(client.get_logged_model, model_id))
                if logged.name == address.path:
                    return self._resolve_logged(uri, logged)
            raise RegistryError(
                where=uri,
                rule=f"run {address.run_id} has neither artifacts nor a model under {address.path}",
                fix="look at the run's artifacts and correct the path",
            )
        return ResolvedSource(
            uri=uri,
            name=address.path.rsplit("/", 1)[-1],
            version=address.run_id,
            artifact_location=location,
            **self._provenance(uri, address.run_id),
        )

    def _provenance(self, uri: str, run_id: str | None) -> dict[str, Any]:
        if run_id is None:
            return {}
        run = self._ask(uri, lambda: self._client.get_run(run_id))
        tags: Mapping[str, str] = run.data.tags
        own = {key: str(value) for key, value in tags.items() if not key.startswith("mlflow.")}
        commit = next((str(tags[key]) for key in _GIT_TAGS if key in tags), None)
        metrics = {key: float(value) for key, value in run.data.metrics.items()}
        return {
            "run_id": run_id,
            "experiment_id": str(run.info.experiment_id),
            "git_commit": commit,
            "training": {**own, **{key: str(value) for key, value in run.data.params.items()}},
            # JSON has no NaN, and a metric without a value says nothing.
            "metrics": {key: value for key, value in metrics.items() if math.isfinite(value)},
        }

    def _ask(self, uri: str, question: Callable[[], _Answer]) -> _Answer:
        from mlflow.exceptions import MlflowException

        try:
            return question()
        except MlflowException as error:
            raise self._reworded(uri, error) from error

    def _reworded(self, uri: str, error: Any) -> RegistryError:
        text = str(error).split("\n", 1)[0]
        if "RESOURCE_DOES_NOT_EXIST" in text or "not found" in text:
            rule, fix = f"is not in the registry ({text})", "check name, version and alias"
        elif error.error_code in {"PERMISSION_DENIED", "UNAUTHENTICATED"}:
            rule = f"may not be read with these credentials ({text})"
            fix = "set MLFLOW_TRACKING_USERNAME and _PASSWORD, or MLFLOW_TRACKING_TOKEN"
        else:
            rule = f"the registry at {self.tracking_uri} does not answer ({text[:300]})"
            fix = "check that it runs and that --tracking-uri is right"
        return RegistryError(where=uri, rule=rule, fix=fix)


def _told(source: ResolvedSource) -> str:
    known = source.registered_model is not None and source.model_id is not None
    return f"{source.pinned} ({source.model_id})" if known else source.pinned


def _model_id_in(source: str) -> str | None:
    address = source.removeprefix("models:/")
    return address if address != source and address.startswith("m-") else None


def _open_client(uri: str) -> MlflowClient:
    # MLflow's own defaults retry for minutes before they say that nobody listens.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise RegistryError(
            where=uri,
            rule=f"reading a registry needs MLflow, which is not installed ({error})",
            fix="install the extra: pip install 'perimeter[release]'",
        ) from error
    try:
        return MlflowClient(tracking_uri=uri, registry_uri=uri)
    except MlflowException as error:
        raise RegistryError(
            where=uri,
            rule=f"is not the address of an MLflow server ({error})",
            fix="pass --tracking-uri http://HOST:PORT",
        ) from error
