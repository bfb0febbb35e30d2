"""A registry that cannot be asked says so quickly, and says what to do."""

from __future__ import annotations

import sys
import time

import pytest

from model_packaging.errors import RegistryError
from model_packaging.sources.artifacts import Artifacts
from model_packaging.sources.registry import Registry
from tests.lab.ports import free_port


def test_without_an_address_it_is_told_how_to_give_one(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(RegistryError) as caught:
        Registry()
    assert str(caught.value) == (
        "MLFLOW_TRACKING_URI: is not set, so there is no registry to ask\n"
        "  fix: set it, or pass --tracking-uri http://HOST:PORT"
    )


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(RegistryError) as caught:
        Registry("http://127.0.0.1:1")
    assert "reading a registry needs MLflow, which is not installed" in caught.value.rule
    assert caught.value.fix == "install the extra: pip install 'perimeter[release]'"


def test_a_server_that_is_not_there_is_told_within_seconds():
    uri = f"http://127.0.0.1:{free_port()}"
    started = time.monotonic()
    with pytest.raises(RegistryError) as caught:
        Registry(uri).resolve("models:/analyst@champion")
    assert time.monotonic() - started < 60
    assert caught.value.where == "models:/analyst@champion"
    assert caught.value.rule.startswith(f"the registry at {uri} does not answer (")
    assert caught.value.fix == "check that it runs and that --tracking-uri is right"


def test_an_address_of_another_kind_is_refused():
    with pytest.raises(RegistryError, match="is not the address of an MLflow server"):
        Registry("ftp://example.com").resolve("models:/analyst@champion")


def test_an_artifact_store_of_an_unknown_kind_is_an_error_with_its_place():
    with pytest.raises(RegistryError) as caught:
        Artifacts(location="nowhere://bucket/model", tracking_uri="http://127.0.0.1:1")
    assert caught.value.where == "nowhere://bucket/model"
    assert caught.value.rule.startswith("cannot be read from the artifact store (")
