"""The weights digest says "the same weights" across files, and "others" for one changed bit."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from model_packaging.package.verify import check_weights
from tests.packaging.tiny_model import (
    RawTensor,
    configuration,
    edit_json,
    random_tensors,
    safetensors_bytes,
    write_json,
    write_model,
    write_weights,
)


def digest(directory: Path) -> str:
    return str(check_weights(str(directory))["weights_digest"])


@pytest.fixture(scope="module")
def vector(repository: Path) -> dict[str, Any]:
    page = (repository / "docs" / "package-format.md").read_text()
    found = re.search(r"<!-- test vector -->\n```json\n(.*?)```", page, re.DOTALL)
    assert found is not None
    parsed: dict[str, Any] = json.loads(found[1])
    return parsed


def write_vector(directory: Path, vector: dict[str, Any], *, tied: bool) -> None:
    directory.mkdir()
    tensors = {
        name: RawTensor(
            dtype=tensor["dtype"],
            shape=tuple(tensor["shape"]),
            data=bytes.fromhex(tensor["bytes"]),
        )
        for name, tensor in vector["tensors"].items()
    }
    (directory / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    write_json(directory / "config.json", {"tie_word_embeddings": tied})


def test_the_published_vector_gives_the_published_digest(vector, tmp_path):
    write_vector(tmp_path / "untied", vector, tied=False)
    write_vector(tmp_path / "tied", vector, tied=True)
    assert digest(tmp_path / "untied") == vector["weights_digest"]
    assert digest(tmp_path / "tied") == vector["weights_digest_tied"]


def test_the_published_lines_are_what_the_page_says_they_are(vector):
    lines = []
    for name, tensor in sorted(vector["tensors"].items(), key=lambda item: item[0].encode()):
        shape = ",".join(map(str, tensor["shape"]))
        data = hashlib.sha256(bytes.fromhex(tensor["bytes"])).hexdigest()
        lines.append(f"{name}\0{tensor['dtype']}\0{shape}\0{data}\n".encode())
    assert "sha256:" + hashlib.sha256(b"".join(lines)).hexdigest() == vector["weights_digest"]


def test_sharding_does_not_change_it(tmp_path):
    single = digest(write_model(tmp_path / "single"))
    assert digest(write_model(tmp_path / "two", shards=2)) == single
    assert digest(write_model(tmp_path / "five", shards=5)) == single


def test_the_order_of_tensors_in_a_file_does_not_change_it(model):
    before = digest(model)
    tensors = random_tensors(configuration())
    write_weights(model, dict(reversed(tensors.items())))
    assert digest(model) == before


def test_file_metadata_does_not_change_it(model):
    before = digest(model)
    tensors = random_tensors(configuration())
    (model / "model.safetensors").write_bytes(
        safetensors_bytes(tensors, metadata={"format": "pt", "saved_by": "somebody else"})
    )
    assert digest(model) == before


@pytest.mark.parametrize("position", [0, -1])
def test_one_changed_bit_of_one_tensor_changes_it(model, position):
    before = digest(model)
    tensors = random_tensors(configuration())
    name = sorted(tensors)[position]
    data = bytearray(tensors[name].data)
    data[position] ^= 1
    tensors[name] = RawTensor(dtype="BF16", shape=tensors[name].shape, data=bytes(data))
    write_weights(model, tensors)
    assert digest(model) != before


def test_the_same_bytes_under_another_shape_or_type_change_it(model):
    before = digest(model)
    tensors = random_tensors(configuration())
    norm = tensors["model.norm.weight"]
    changed = []
    for dtype, shape in (("BF16", (4, 4)), ("F16", (16,))):
        tensors["model.norm.weight"] = RawTensor(dtype=dtype, shape=shape, data=norm.data)
        write_weights(model, tensors)
        changed.append(digest(model))
    assert len({before, *changed}) == 3


def test_two_tensors_that_change_places_change_it(model):
    before = digest(model)
    tensors = random_tensors(configuration())
    first, second = "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.gate_proj.weight"
    tensors[first], tensors[second] = tensors[second], tensors[first]
    write_weights(model, tensors)
    assert digest(model) != before


def test_a_tied_output_layer_that_is_written_out_does_not_change_it(model):
    before = digest(model)
    tensors = random_tensors(configuration())
    write_weights(model, tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"]})
    assert digest(model) == before
    edit_json(model / "config.json", {"tie_word_embeddings": False})
    assert digest(model) != before
