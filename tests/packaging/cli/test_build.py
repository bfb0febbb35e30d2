"""`package-model build`: from a registry to the store and the lock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.lock import read_lock
from model_packaging.package.golden import Golden
from model_packaging.package.manifest import read_manifest
from model_packaging.package.verify import check_weights
from model_packaging.package.verifying import verify_package
from model_packaging.sources.registry import Registry
from tests.packaging.cli.conftest import run
from tests.packaging.mlflow_models import log_artifacts, log_with_mlflow, register, set_alias
from tests.packaging.tiny_model import as_logged, write_json, write_model

pytestmark = pytest.mark.mlflow

CALLS = [
    {
        "messages": [{"role": "user", "content": "EUR/USD?"}],
        "tools": [{"type": "function", "function": {"name": "get_rate", "parameters": {}}}],
        "calls": [{"name": "get_rate", "arguments": {"pair": "EUR/USD"}}],
    }
]


@pytest.fixture(scope="module")
def uri(mlflow_server):
    return mlflow_server.uri


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Three shards, so that MLflow's own saving puts them together differently."""
    return write_model(tmp_path_factory.mktemp("trained") / "model", shards=3)


@pytest.fixture(scope="module")
def trained(uri, model, training_python, tmp_path_factory):
    """A model as a training run logs it, with mlflow.transformers; its address."""
    extra = tmp_path_factory.mktemp("extra")
    (extra / "extra_files").mkdir()
    write_json(extra / "extra_files" / "golden_calls.json", CALLS)
    log_with_mlflow(training_python, uri, model, name="trained", extra=extra)
    set_alias(uri, name="trained", alias="champion", version="1")
    return "models:/trained@champion"


@pytest.fixture(scope="module")
def plain(uri, tmp_path_factory):
    """Another model, registered from plain artifacts in MLflow's layout; its address."""
    directory = tmp_path_factory.mktemp("plain")
    logged = as_logged(write_model(directory / "model", seed=1), directory / "logged")
    register(uri, logged, name="plain", aliases=["champion"])
    return "models:/plain@champion"


@pytest.fixture
def path(deployment, trained, plain):
    return deployment(small=trained, large=plain)


def store_of(path: Path) -> Path:
    return Path(load_deployment(path).store)


def test_a_model_that_mlflow_saved_again_has_the_same_weights(path, uri, model):
    ran = run("build", path, "--tracking-uri", uri)
    assert ran.status == 0, ran.err
    package = store_of(path) / "trained" / "1"
    manifest = verify_package(package)
    weights = [entry.path for entry in manifest.files if entry.role == "weights"]
    assert weights == ["model/model.safetensors"]
    assert manifest.weights_digest == check_weights(str(model))["weights_digest"]
    assert manifest.source.flavor == "transformers"
    assert manifest.source.git_commit == "0123456789abcdef"
    assert manifest.source.training["seed"] == "7"
    assert manifest.source.metrics == {"accuracy": 0.986}
    assert manifest.source.model_id is not None
    assert (package / "model" / "model.safetensors").stat().st_mode & 0o777 == 0o644
    golden = Golden.model_validate_json((package / "golden.json").read_bytes())
    assert golden.model_dump(mode="json")["tool_calls"] == CALLS


def test_the_lock_says_what_was_built(path, uri):
    ran = run("build", path, "--tracking-uri", uri, "--json", "--quiet")
    assert ran.err == ""
    lock = read_lock(path.with_name("demo.lock.json"), load_deployment(path))
    manifest = read_manifest(store_of(path) / "trained" / "1")
    small = lock.models["small"]
    assert small.source_requested == "models:/trained@champion"
    assert (small.registered_model, small.version) == ("trained", "1")
    assert small.model_id == manifest.source.model_id
    assert small.package_digest == manifest.package_digest
    assert small.weights_digest == manifest.weights_digest
    assert ran.json["models"]["small"]["package_digest"] == manifest.package_digest
    assert ran.json["models"]["large"]["registered_model"] == "plain"
    assert ran.json["lock"] == str(path.with_name("demo.lock.json"))


def test_people_read_the_version_behind_each_alias_and_the_digests(path, uri):
    ran = run("build", path, "--tracking-uri", uri)
    assert "small: models:/trained@champion is trained version 1\n" in ran.err
    assert "downloading " in ran.err
    assert "small\n  source          models:/trained@champion -> trained version 1\n" in ran.out
    assert "  weights_digest  sha256:" in ran.out
    assert ran.out.endswith(f"lock {path.with_name('demo.lock.json')}\n")


def test_the_address_may_come_from_the_environment(path, uri, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert run("build", path).status == 0


def test_a_known_model_is_verified_and_not_downloaded_again(path, uri):
    run("build", path, "--tracking-uri", uri)
    before = path.with_name("demo.lock.json").read_bytes()
    ran = run("build", path, "--tracking-uri", uri)
    package = store_of(path) / "trained" / "1"
    assert f"in the store already: {package} (--fresh downloads and compares)\n" in ran.err
    assert f"verifying {package} (" in ran.err
    assert path.with_name("demo.lock.json").read_bytes() == before
    fresh = run("build", path, "--tracking-uri", uri, "--fresh")
    assert f"unchanged {package}\n" in fresh.err
    assert path.with_name("demo.lock.json").read_bytes() == before


def test_a_damaged_package_is_found_and_not_locked(path, uri):
    run("build", path, "--tracking-uri", uri)
    path.with_name("demo.lock.json").unlink()
    package = store_of(path) / "trained" / "1"
    with (package / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\xff")
    ran = run("build", path, "--tracking-uri", uri)
    assert ran.status == 5
    assert not path.with_name("demo.lock.json").exists()


def test_an_alias_that_moved_between_builds_gives_another_version_and_lock(
    deployment, uri, plain, tmp_path
):
    models = [
        as_logged(write_model(tmp_path / f"m{n}", seed=n), tmp_path / f"l{n}") for n in (2, 3)
    ]
    register(uri, models[0], name="rolling", aliases=["champion"])
    path = deployment(small="models:/rolling@champion", large=plain)
    first = run("build", path, "--tracking-uri", uri, "--json").json["models"]["small"]
    register(uri, models[1], name="rolling", aliases=["champion"])
    second = run("build", path, "--tracking-uri", uri, "--json").json["models"]["small"]
    assert (first["version"], second["version"]) == ("1", "2")
    assert first["weights_digest"] != second["weights_digest"]
    verify_package(Path(first["directory"]))


def test_every_form_of_address_leads_to_the_same_weights(deployment, uri, trained, model):
    source = Registry(uri).resolve(trained)
    expected = check_weights(str(model))["weights_digest"]
    run_id = log_artifacts(uri, model, "weights")
    addresses = [
        "models:/trained/1",
        f"models:/{source.model_id}",
        f"runs:/{source.run_id}/model",
        f"runs:/{run_id}/weights",
    ]
    for small, large in zip(addresses[::2], addresses[1::2], strict=True):
        path = deployment(small=small, large=large)
        found = run("build", path, "--tracking-uri", uri, "--json").json["models"]
        assert {found[key]["weights_digest"] for key in ("small", "large")} == {expected}


def test_a_model_that_is_refused_leaves_no_lock_and_no_package(deployment, uri, plain, tmp_path):
    spoilt = as_logged(write_model(tmp_path / "model"), tmp_path / "logged")
    with (spoilt / "model" / "model.safetensors").open("ab") as file:
        file.write(bytes(8))
    register(uri, spoilt, name="spoilt", aliases=["champion"])
    path = deployment(small="models:/spoilt@champion", large=plain)
    ran = run("build", path, "--tracking-uri", uri, "--json")
    assert ran.status == 4
    assert ran.json["error"]["where"] == "model/model.safetensors"
    assert ran.json["error"]["rule"].startswith("is padded")
    assert not path.with_name("demo.lock.json").exists()
    left = [file for file in store_of(path).rglob("*") if file.name != ".lock"]
    assert left == []


def test_an_unknown_alias_is_told_before_anything_is_created(deployment, uri, plain):
    path = deployment(small="models:/plain@nobody", large=plain)
    ran = run("build", path, "--tracking-uri", uri)
    assert ran.status == 6
    assert "models:/plain@nobody: is not in the registry" in ran.err
    assert not store_of(path).exists()


def test_a_deployment_that_does_not_load_ends_with_status_3(path, uri):
    path.write_text(path.read_text().replace("tiers:", "tears:"))
    ran = run("build", path, "--tracking-uri", uri, "--json")
    assert ran.status == 3
    assert ran.json["error"]["kind"] == "DeploymentInvalid"


def test_what_was_built_can_be_rendered_and_explained(path, uri, tmp_path):
    run("build", path, "--tracking-uri", uri)
    ran = run("render", path, "--json")
    assert ran.status == 0, ran.err
    folder = Path(ran.json["directory"])
    assert folder == tmp_path / "work" / "rendered" / "demo"
    manifest = read_manifest(store_of(path) / "trained" / "1")
    plan = json.loads((folder / "on_prem" / "request_plan.json").read_text())
    assert plan["pools"]["gpu_small"]["weights_digest"] == manifest.weights_digest
    assert run("render", path, "--json").json == ran.json
    assert run("render", path, "--out", tmp_path / "out").status == 0
    assert (tmp_path / "out" / "aws" / "request_plan.json").is_file()
    explained = run("explain", path, "--json")
    assert explained.status == 0
    assert explained.json["packages"]["small"]["package_digest"] == manifest.package_digest


def test_rendering_needs_the_packages_that_the_lock_names(path, uri):
    run("build", path, "--tracking-uri", uri)
    store = store_of(path)
    (store / "trained").rename(store / "moved-away")
    ran = run("render", path)
    assert ran.status == 7
    assert "models.small: is locked to sha256:" in ran.err
    assert f"{store}/trained/1 holds no package\n  fix: run `package-model build {path}`" in ran.err


def test_rendering_before_the_first_build_ends_with_status_7(path):
    ran = run("render", path)
    assert ran.status == 7
    assert "there is no lock file: nothing was built yet" in ran.err


def test_explaining_before_the_first_build_needs_nothing(path):
    ran = run("explain", path)
    assert ran.status == 0
    assert ran.err == f"nothing was built yet: there is no {path.with_name('demo.lock.json')}\n"
    assert "Deployment demo" in ran.out
