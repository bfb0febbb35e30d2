"""What a build leaves in the store, and that it leaves the same every time."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import replace

import pytest

from model_packaging.errors import PackageRefused, RegistryError, VerificationFailed
from model_packaging.package.building import build_package
from model_packaging.package.manifest import read_manifest
from model_packaging.package.store import Store
from model_packaging.package.verifying import verify_package
from model_packaging.progress import Silent
from tests.packaging.packages import SOURCE, Notes, build, contents, traces
from tests.packaging.tiny_model import (
    RawTensor,
    as_logged,
    configuration,
    random_tensors,
    write_model,
    write_weights,
)

NAMES = {
    "SHA256SUMS",
    "golden.json",
    "manifest.json",
    "model/chat_template.jinja",
    "model/config.json",
    "model/generation_config.json",
    "model/model.safetensors",
    "model/tokenizer.json",
    "model/tokenizer_config.json",
    "verify.py",
}


def test_a_package_holds_exactly_what_it_should(package, model):
    found = contents(package)
    assert set(found) == NAMES
    assert found["model/model.safetensors"] == (model / "model.safetensors").read_bytes()
    assert found["model/tokenizer.json"] == (model / "tokenizer.json").read_bytes()


def test_the_manifest_says_where_it_came_from_and_what_it_is(package):
    manifest = read_manifest(package)
    assert manifest.source.uri == "models:/analyst@champion"
    assert manifest.source.aliases_seen == ("champion",)
    assert manifest.source.metrics == {"accuracy": 0.986}
    assert manifest.source.flavor == "huggingface_directory"
    assert manifest.model.architecture == "Qwen3ForCausalLM"
    assert manifest.model.parameters == 9712
    assert manifest.model.dtype == "BF16"
    assert manifest.tokenizer.eos_token_ids == (257, 259)
    assert manifest.chat.renders_tools
    assert manifest.chat.renders_thinking
    assert {entry.path for entry in manifest.files} == NAMES - {"SHA256SUMS", "manifest.json"}


@pytest.mark.parametrize(
    ("family", "tied", "shards", "parameters"),
    [
        ("qwen3", False, 3, 13_936),
        ("qwen2", True, 1, 9_808),
        ("llama", False, 1, 13_904),
    ],
)
def test_each_family_becomes_a_package(tmp_path, store, family, tied, shards, parameters):
    model = write_model(tmp_path / "model", family=family, tied=tied, shards=shards)
    manifest = build(model, store)
    assert manifest.model.model_type == family
    assert manifest.model.parameters == parameters
    verify_package(store.package_directory(name="analyst", version="3"))


def test_a_package_is_readable_by_others_whatever_the_umask(model, store):
    before = os.umask(0o077)
    try:
        build(model, store)
    finally:
        os.umask(before)
    package = store.package_directory(name="analyst", version="3")
    modes = {
        stat.S_IMODE(path.stat().st_mode): path.is_dir()
        for path in (package.parent, package, *package.rglob("*"))
    }
    assert modes == {0o755: True, 0o644: False}


def test_the_same_model_gives_the_same_bytes_at_another_time_and_place(
    model, tmp_path, monkeypatch
):
    first, second = Store(tmp_path / "one"), Store(tmp_path / "another" / "place")
    build(model, first)
    for path in model.iterdir():
        os.utime(path, (0, 0))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    before = os.umask(0o027)
    try:
        build(model, second)
    finally:
        os.umask(before)
    assert contents(first.root / "analyst") == contents(second.root / "analyst")


def test_the_layout_it_was_logged_in_does_not_change_the_model(model, tmp_path, store):
    logged = as_logged(model, tmp_path / "logged")
    flat = build(model, store)
    other = build(logged, store, replace(SOURCE, version="4"))
    assert other.model_digest == flat.model_digest
    assert other.weights_digest == flat.weights_digest
    assert other.source.flavor == "transformers"
    provenance = [entry.path for entry in other.files if entry.role == "provenance"]
    assert provenance == ["provenance/LICENSE.txt", "provenance/MLmodel"]


def test_versions_share_the_bytes_that_they_have_in_common(model, store):
    build(model, store)
    (model / "chat_template.jinja").write_text(
        (model / "chat_template.jinja").read_text().replace("assistant", "analyst")
    )
    build(model, store, replace(SOURCE, version="4"))
    one, other = (store.package_directory(name="analyst", version=v) for v in ("3", "4"))
    weights = "model/model.safetensors"
    assert (one / weights).stat().st_ino == (other / weights).stat().st_ino
    template = "model/chat_template.jinja"
    assert (one / template).stat().st_ino != (other / template).stat().st_ino
    verify_package(one)
    verify_package(other)


def test_a_damaged_blob_is_not_shared(model, store):
    manifest = build(model, store)
    weights = next(entry for entry in manifest.files if entry.role == "weights")
    blob = store.root / "blobs" / "sha256" / weights.sha256
    with blob.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    build(model, store, replace(SOURCE, version="4"))
    verify_package(store.package_directory(name="analyst", version="4"))


def test_building_the_same_again_changes_nothing(model, store):
    first = build(model, store)
    package = store.package_directory(name="analyst", version="3")
    before = {path: path.stat().st_mtime_ns for path in package.rglob("*")}
    notes = Notes()
    later = replace(SOURCE, uri="models:/analyst/3", aliases_seen=("champion", "older"))
    again = build_package(later, model, store, notes)
    assert again == first
    assert {path: path.stat().st_mtime_ns for path in package.rglob("*")} == before
    assert f"unchanged {package}" in notes.lines


def test_the_same_version_with_other_content_is_refused(model, store):
    build(model, store)
    before = traces(store)
    tensors = random_tensors(configuration(), seed=1)
    write_weights(model, tensors)
    with pytest.raises(PackageRefused) as caught:
        build(model, store)
    package = store.package_directory(name="analyst", version="3")
    assert str(caught.value) == (
        f"{package}: is in the store with other content (model/model.safetensors)\n"
        "  fix: register the model as a new version; a version never changes its content"
    )
    assert traces(store) == before
    verify_package(package)


def test_a_damaged_package_is_not_taken_for_unchanged(model, store):
    build(model, store)
    package = store.package_directory(name="analyst", version="3")
    with (package / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    with pytest.raises(VerificationFailed, match=r"model\.safetensors: has SHA-256"):
        build(model, store)


def test_a_package_without_its_manifest_stops_the_build(model, store):
    build(model, store)
    package = store.package_directory(name="analyst", version="3")
    (package / "manifest.json").unlink()
    with pytest.raises(VerificationFailed, match=f"fix: remove {package} and build again"):
        build(model, store)


def test_files_that_stay_somebody_elses_are_copied(model, store):
    before = contents(model)
    build(model, store)
    assert contents(model) == before
    package = store.package_directory(name="analyst", version="3")
    with (model / "model.safetensors").open("r+b") as file:
        file.write(b"spoilt")
    verify_package(package)


def test_files_in_the_staging_of_the_store_are_moved(model, store):
    with store.staging() as stage:
        download = stage / "download"
        shutil.copytree(model, download)
        inode = (download / "model.safetensors").stat().st_ino
        build(download, store)
        assert not (download / "model.safetensors").exists()
    package = store.package_directory(name="analyst", version="3")
    assert (package / "model" / "model.safetensors").stat().st_ino == inode


def test_a_staged_file_with_a_second_name_elsewhere_is_copied(model, store):
    with store.staging() as stage:
        download = stage / "download"
        shutil.copytree(model, download, copy_function=os.link)
        build(download, store)
    with (model / "model.safetensors").open("r+b") as file:
        file.write(b"spoilt")
    verify_package(store.package_directory(name="analyst", version="3"))


def test_what_is_left_out_is_named(model, store):
    (model / "README.md").write_text("# hello")
    (model / "checkpoint-500").mkdir()
    (model / "checkpoint-500" / "trainer_state.json").write_text("{}")
    notes = Notes()
    build_package(SOURCE, model, store, notes)
    left_out = [line for line in notes.lines if line.startswith("left out")]
    assert left_out == ["left out: README.md", "left out: checkpoint-500/trainer_state.json"]
    assert set(contents(store.package_directory(name="analyst", version="3"))) == NAMES


def test_every_byte_of_the_weights_is_counted_once(model, store):
    notes = Notes()
    build_package(SOURCE, model, store, notes)
    size = (model / "model.safetensors").stat().st_size
    assert f"hashing the weights: {size}" in notes.lines
    assert notes.counted == size


def test_a_source_that_moved_meanwhile_stops_the_build_without_a_trace(model, store):
    def moved(_source: object) -> None:
        raise RegistryError(where="models:/analyst@champion", rule="moved", fix="again")

    with pytest.raises(RegistryError, match="moved"):
        build_package(SOURCE, model, store, Silent(), confirm=moved)
    assert traces(store) == []


@pytest.mark.parametrize(
    ("name", "version"), [("blobs", "1"), ("my model", "1"), ("../up", "1"), ("", "1"), ("a", "/")]
)
def test_names_that_cannot_be_a_directory_are_refused(model, store, name, version):
    with pytest.raises(PackageRefused, match="register it under a name of letters, digits"):
        build(model, store, replace(SOURCE, name=name, version=version))
    assert traces(store) == []


def test_a_tied_output_layer_that_differs_is_refused(model, store):
    tensors = random_tensors(configuration())
    embedding = tensors["model.embed_tokens.weight"]
    spoilt = RawTensor(dtype="BF16", shape=embedding.shape, data=embedding.data[::-1])
    write_weights(model, tensors | {"lm_head.weight": spoilt})
    with pytest.raises(PackageRefused) as caught:
        build(model, store)
    assert str(caught.value).startswith(
        "lm_head.weight: is not the embedding, though config.json ties the two\n  fix: save"
    )
    assert traces(store) == []


def test_a_sharded_model_keeps_its_shards_and_gets_a_plain_index(tmp_path, store):
    model = write_model(tmp_path / "model", shards=2)
    index = json.loads((model / "model.safetensors.index.json").read_text())
    index["metadata"]["total_parameters"] = 1
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    build(model, store)
    package = store.package_directory(name="analyst", version="3")
    written = json.loads((package / "model" / "model.safetensors.index.json").read_text())
    assert written["weight_map"] == index["weight_map"]
    assert written["metadata"] == {"total_size": 2 * 9712}
