"""Against a real MLflow server: pinned before the download, looked at again after it."""

from __future__ import annotations

import pytest

from model_packaging.errors import PackageRefused, RegistryError
from model_packaging.package.building import build_package
from model_packaging.package.store import Store
from model_packaging.progress import Silent
from model_packaging.sources.registry import Registry
from tests.packaging.mlflow_models import log_artifacts, register, set_alias
from tests.packaging.packages import Notes, contents, traces
from tests.packaging.tiny_model import as_logged, write_model

pytestmark = pytest.mark.mlflow


@pytest.fixture(scope="module")
def uri(mlflow_server):
    return mlflow_server.uri


@pytest.fixture(scope="module")
def registry(uri):
    return Registry(uri)


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logged")
    return as_logged(write_model(directory / "plain"), directory / "logged")


def test_an_alias_is_pinned_to_a_version_and_its_files(uri, registry, logged):
    version = register(uri, logged, name="pinned", aliases=["champion", "blue"])
    source = registry.resolve("models:/pinned@champion")
    assert (source.name, source.version) == ("pinned", version)
    assert source.registered_version == version
    assert source.aliases_seen == ("blue", "champion")
    assert source.artifact_location.startswith("mlflow-artifacts:/")
    assert source.pinned == f"pinned version {version}"
    assert registry.resolve(f"models:/pinned/{version}").artifact_location == (
        source.artifact_location
    )


def test_the_files_come_as_they_were_logged(uri, registry, logged, tmp_path):
    register(uri, logged, name="files", aliases=["champion"])
    artifacts = registry.artifacts(registry.resolve("models:/files@champion"))
    notes = Notes()
    artifacts.download(tmp_path, notes)
    assert contents(tmp_path) == contents(logged)
    total = sum(len(content) for content in contents(logged).values())
    assert notes.lines == [f"downloading {len(contents(logged))} files: {total}"]
    assert notes.counted == total


def test_an_alias_that_moves_during_the_build_stops_it(uri, registry, logged, tmp_path):
    first = register(uri, logged, name="moving", aliases=["champion"])
    second = register(uri, logged, name="moving")
    source = registry.resolve("models:/moving@champion")
    store = Store(tmp_path / "store")
    with store.staging() as stage:
        download = stage / "download"
        download.mkdir()
        registry.artifacts(source).download(download, Silent())
        set_alias(uri, name="moving", alias="champion", version=second)
        with pytest.raises(RegistryError) as caught:
            build_package(source, download, store, Silent(), confirm=registry.confirm)
    assert str(caught.value) == (
        f"models:/moving@champion: pointed to moving version {first} when the build started and "
        f"points to moving version {second} now\n"
        "  fix: run the build again, or name the version in place of the alias"
    )
    assert traces(store) == []


def test_an_alias_that_gets_a_companion_has_not_moved(uri, registry, logged):
    version = register(uri, logged, name="still", aliases=["champion"])
    source = registry.resolve("models:/still@champion")
    set_alias(uri, name="still", alias="green", version=version)
    registry.confirm(source)


def test_a_raw_directory_of_a_run_is_a_source_too(uri, registry, tmp_path):
    model = write_model(tmp_path / "model")
    run_id = log_artifacts(uri, model, "out/final")
    source = registry.resolve(f"runs:/{run_id}/out/final")
    assert (source.name, source.version) == ("final", run_id)
    assert source.model_id is None
    target = tmp_path / "target"
    target.mkdir()
    registry.artifacts(source).download(target, Silent())
    assert contents(target) == contents(model)


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("models:/nothing@champion", "is not in the registry (RESOURCE_DOES_NOT_EXIST"),
        ("models:/known@nobody", "is not in the registry (INVALID_PARAMETER_VALUE"),
        ("models:/known/99", "is not in the registry (RESOURCE_DOES_NOT_EXIST"),
        ("models:/m-0123456789abcdef", "is not in the registry (RESOURCE_DOES_NOT_EXIST"),
        ("runs:/0123456789abcdef/model", "is not in the registry (RESOURCE_DOES_NOT_EXIST"),
    ],
)
def test_what_the_registry_does_not_know_is_said_by_its_name(uri, registry, logged, address, rule):
    register(uri, logged, name="known")
    with pytest.raises(RegistryError) as caught:
        registry.resolve(address)
    assert caught.value.where == address
    assert caught.value.rule.startswith(rule)
    assert caught.value.fix == "check name, version and alias"


def test_a_path_that_a_run_does_not_have_is_said(uri, registry, logged):
    run_id = log_artifacts(uri, logged)
    with pytest.raises(RegistryError, match=f"run {run_id} has neither artifacts nor a model"):
        registry.resolve(f"runs:/{run_id}/elsewhere")


def test_a_file_that_arrives_with_another_size_is_an_error(uri, registry, logged, tmp_path):
    register(uri, logged, name="short", aliases=["champion"])
    artifacts = registry.artifacts(registry.resolve("models:/short@champion"))
    listed = artifacts.sizes()["model/config.json"]
    assert listed is not None
    with pytest.raises(RegistryError, match=f"arrived with {listed} bytes, the store lists"):
        artifacts.fetch("model/config.json", tmp_path, listed + 1, Silent())


def test_a_pickle_is_refused_before_it_is_downloaded(uri, registry, tmp_path):
    model = write_model(tmp_path / "model")
    (model / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    register(uri, model, name="pickled", aliases=["champion"])
    artifacts = registry.artifacts(registry.resolve("models:/pickled@champion"))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(PackageRefused, match=r"pytorch_model\.bin: may be a pickle"):
        artifacts.download(target, Silent())
    assert contents(target) == {}


def test_an_adapter_is_refused_before_its_weights_are_downloaded(uri, registry, logged, tmp_path):
    adapter = as_logged(write_model(tmp_path / "plain"), tmp_path / "logged")
    (adapter / "peft").mkdir()
    (adapter / "peft" / "adapter_config.json").write_text("{}")
    register(uri, adapter, name="adapter", aliases=["champion"])
    artifacts = registry.artifacts(registry.resolve("models:/adapter@champion"))
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(PackageRefused, match="belongs to a LoRA adapter"):
        artifacts.download(target, Silent())
    assert set(contents(target)) == {"MLmodel"}


def test_a_disk_without_room_is_said_before_the_download(
    uri, registry, logged, tmp_path, monkeypatch
):
    register(uri, logged, name="roomy", aliases=["champion"])
    artifacts = registry.artifacts(registry.resolve("models:/roomy@champion"))
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    with pytest.raises(PackageRefused) as caught:
        artifacts.download(tmp_path, Silent())
    assert caught.value.rule.startswith("has 1000 bytes free, the model needs ")
    assert caught.value.fix == "free some space, or pass --store on a larger disk"
