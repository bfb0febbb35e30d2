"""`package-model inspect`: a package, a directory, an address."""

from __future__ import annotations

import pytest

from model_packaging.package.manifest import read_manifest
from model_packaging.package.store import Store
from tests.packaging.cli.conftest import run
from tests.packaging.mlflow_models import register
from tests.packaging.packages import build, contents
from tests.packaging.tiny_model import as_logged, edit_json, write_model


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "model", shards=2)


@pytest.fixture
def package(model, tmp_path):
    store = Store(tmp_path / "store")
    build(model, store)
    return store.package_directory(name="analyst", version="3")


def test_a_package_shows_its_manifest(package):
    manifest = read_manifest(package)
    found = run("inspect", package, "--json").json
    assert found["kind"] == "package"
    assert found["package_digest"] == manifest.package_digest
    assert found["manifest"]["source"]["uri"] == "models:/analyst@champion"
    text = run("inspect", package).out
    assert "architecture    Qwen3ForCausalLM\n" in text
    assert "parameters      9,712\n" in text


def test_a_directory_is_judged_as_a_build_would_and_stays_as_it_is(model, package):
    before = contents(model)
    found = run("inspect", model, "--json").json
    assert found["kind"] == "directory"
    assert found["layout"] == "huggingface_directory"
    assert found["weights_digest"] == read_manifest(package).weights_digest
    assert found["tensors"] == 24
    assert len(found["weights_files"]) == 2
    assert contents(model) == before


def test_the_directory_that_an_engine_serves_gives_the_same_weights(package):
    found = run("inspect", package / "model", "--json").json
    assert found["weights_digest"] == read_manifest(package).weights_digest


def test_a_directory_that_would_be_refused_ends_with_status_4(model):
    edit_json(model / "config.json", {"auto_map": {"AutoModel": "m.M"}})
    ran = run("inspect", model)
    assert ran.status == 4
    assert "error: config.json: holds auto_map" in ran.err


def test_what_is_neither_is_told_what_to_name(tmp_path):
    ran = run("inspect", tmp_path / "nowhere")
    assert ran.status == 4
    assert ran.err == (
        f"error: {tmp_path}/nowhere: is neither a directory nor an address of the registry\n"
        "  fix: name a package, a Hugging Face directory, or models:/NAME@ALIAS\n"
    )


@pytest.mark.mlflow
def test_an_address_shows_what_it_stands_for_without_its_weights(mlflow_server, model, tmp_path):
    logged = as_logged(model, tmp_path / "logged")
    version = register(mlflow_server.uri, logged, name="inspected", aliases=["champion"])
    options = ("--tracking-uri", mlflow_server.uri)
    found = run("inspect", "models:/inspected@champion", *options, "--json").json
    assert found["kind"] == "address"
    assert found["pinned"] == f"inspected version {version}"
    assert found["layout"] == "transformers"
    assert found["files"] == {path: len(data) for path, data in contents(logged).items()}
    text = run("inspect", "models:/inspected@champion", *options).out
    assert "  model/config.json (" in text


@pytest.mark.mlflow
def test_an_unknown_address_ends_with_status_6(mlflow_server):
    ran = run("inspect", "models:/nobody@champion", "--tracking-uri", mlflow_server.uri)
    assert ran.status == 6
    assert "error: models:/nobody@champion: is not in the registry" in ran.err
