"""Index, headers and files say the same in both directions, or the model is refused."""

from __future__ import annotations

import json
import shutil

import pytest

from model_packaging.package.verify import Broken, read_weights
from tests.packaging.tiny_model import INDEX, edit_json, write_json, write_model

FIRST = "model-00001-of-00002.safetensors"
SECOND = "model-00002-of-00002.safetensors"
NORM = "model.norm.weight"


@pytest.fixture
def sharded(tmp_path):
    return write_model(tmp_path / "sharded", shards=2)


def refusal(directory):
    with pytest.raises(Broken) as caught:
        read_weights(str(directory))
    return str(caught.value)


def place(directory, tensor, file):
    index = json.loads((directory / INDEX).read_text())
    index["weight_map"][tensor] = file
    write_json(directory / INDEX, index)


def test_a_sharded_model_is_read_whole(sharded):
    weights = read_weights(str(sharded))
    assert sorted(weights.files) == [FIRST, SECOND]
    assert len(weights.tensors()) == 24


def test_a_missing_shard_is_named(sharded):
    (sharded / SECOND).unlink()
    assert refusal(sharded) == (
        f"{SECOND}: is missing: {INDEX} places tensors in it\n  fix: bring the file, or save the "
        "model again as safetensors into an empty directory, or copy the file again"
    )


def test_a_stale_single_file_beside_shards_is_refused(sharded):
    shutil.copy(sharded / FIRST, sharded / "model.safetensors")
    assert refusal(sharded).startswith(
        f"model.safetensors: is not in {INDEX}: some engines would load it in place of the shards\n"
        "  fix: remove the file, or "
    )


def test_a_tensor_that_only_a_header_knows_is_refused(sharded):
    index = json.loads((sharded / INDEX).read_text())
    file = index["weight_map"].pop(NORM)
    write_json(sharded / INDEX, index)
    assert f"{INDEX}: places {NORM} in no file, but {file} holds it" in refusal(sharded)


def test_a_tensor_that_only_the_index_knows_is_refused(sharded):
    place(sharded, "model.layers.7.extra", FIRST)
    assert f"{INDEX}: places model.layers.7.extra in {FIRST}, which lacks it" in refusal(sharded)


def test_a_tensor_that_the_index_places_in_another_shard_is_refused(sharded):
    index = json.loads((sharded / INDEX).read_text())
    held = index["weight_map"][NORM]
    other = FIRST if held == SECOND else SECOND
    place(sharded, NORM, other)
    assert f"{INDEX}: places {NORM} in {other}, but {held} holds it" in refusal(sharded)


@pytest.mark.parametrize(
    "file",
    [
        "../elsewhere/model.safetensors",
        "/srv/model.safetensors",
        "sub/model.safetensors",
        "..\\model.safetensors",
        "model\0.safetensors",
        "pytorch_model.bin",
        3,
    ],
)
def test_the_index_may_name_files_of_its_own_directory_only(sharded, file):
    place(sharded, NORM, file)
    assert (
        f"{INDEX}: places {NORM} in {file!r}: only a file of the same directory may stand here"
        in refusal(sharded)
    )


def test_an_index_with_a_key_twice_is_refused(sharded):
    (sharded / INDEX).write_text('{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}')
    assert f"{INDEX}: is not strict JSON (the key 'a' is there twice)" in refusal(sharded)


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": {}}', '{"weight_map": [1]}'])
def test_an_index_without_a_map_is_refused(sharded, index):
    (sharded / INDEX).write_text(index)
    assert f"{INDEX}: must hold a weight_map and at most metadata beside it" in refusal(sharded)


def test_an_index_with_other_keys_is_refused(sharded):
    edit_json(sharded / INDEX, {"auto_map": {}})
    assert "must hold a weight_map and at most metadata" in refusal(sharded)


def test_shards_without_an_index_are_refused(sharded):
    (sharded / INDEX).unlink()
    assert refusal(sharded).startswith(
        f"{INDEX}: is missing: without it there must be model.safetensors alone, there is "
        f"{FIRST}, {SECOND}\n"
    )


def test_a_directory_without_weights_is_refused(sharded):
    for path in (*sharded.glob("*.safetensors"), sharded / INDEX):
        path.unlink()
    assert "there is no safetensors file" in refusal(sharded)
