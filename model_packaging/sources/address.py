"""The forms that the address of a model may take.

models:/<name>@<alias>     what an alias points to; the usual form
models:/<name>/<version>   one version of a registered model
models:/<model id>         a logged model that need not be registered, m-...
runs:/<run id>/<path>      the artifacts of a run below a path
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model_packaging.errors import RegistryError


@dataclass(frozen=True, kw_only=True)
class AliasAddress:
    """The version that an alias points to."""

    uri: str
    name: str
    alias: str


@dataclass(frozen=True, kw_only=True)
class VersionAddress:
    """One version of a registered model."""

    uri: str
    name: str
    version: str


@dataclass(frozen=True, kw_only=True)
class LoggedModelAddress:
    """A logged model, by the registry's own id."""

    uri: str
    model_id: str


@dataclass(frozen=True, kw_only=True)
class RunAddress:
    """A folder of the artifacts of a run."""

    uri: str
    run_id: str
    path: str


Address = AliasAddress | VersionAddress | LoggedModelAddress | RunAddress

FORMS = "models:/<name>@<alias>, models:/<name>/<version>, models:/m-<id> or runs:/<run id>/<path>"
_ALIAS = re.compile(r"models:/(?P<name>[^/@:]+)@(?P<alias>[A-Za-z0-9_.-]+)")
_VERSION = re.compile(r"models:/(?P<name>[^/@:]+)/(?P<version>[1-9][0-9]*)")
_MODEL = re.compile(r"models:/(?P<model_id>m-[A-Za-z0-9]+)")
_RUN = re.compile(r"runs:/(?P<run_id>[A-Za-z0-9]+)/(?P<path>[^?#]+)")


def parse_address(uri: str) -> Address:
    """Parse an address. Raises RegistryError that names the forms.

    Stages and `latest` are refused: MLflow has given up the one, and nobody sets the other.
    """
    if match := _ALIAS.fullmatch(uri):
        return AliasAddress(uri=uri, **match.groupdict())
    if match := _VERSION.fullmatch(uri):
        return VersionAddress(uri=uri, **match.groupdict())
    if match := _MODEL.fullmatch(uri):
        return LoggedModelAddress(uri=uri, **match.groupdict())
    if match := _RUN.fullmatch(uri):
        path = match["path"].strip("/")
        if not {"", ".", ".."} & set(path.split("/")):
            return RunAddress(uri=uri, run_id=match["run_id"], path=path)
    raise RegistryError(where=uri, rule="is not the address of a model", fix=f"write {FORMS}")
