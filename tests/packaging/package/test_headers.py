"""A safetensors header is read strictly: what a lenient reader would accept is refused by name."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_packaging.package.verify import HEADER_LIMIT_BYTES, Broken, read_header
from tests.packaging.tiny_model import RawTensor, safetensors_bytes, with_header

DATA = bytes(range(16))
GOOD = {
    "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
    "b": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
}


def changed(name: str, **entry: object) -> str:
    return json.dumps(GOOD | {name: {**GOOD.get(name, {}), **entry}})


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(Broken) as caught:
        read_header(str(path), "model.safetensors")
    assert str(caught.value).startswith("model.safetensors: ")
    assert caught.value.fix.startswith(("save the model again", "write the file again"))
    return caught.value.rule


def test_a_good_header_gives_the_tensors_in_the_order_of_their_bytes(tmp_path):
    path = tmp_path / "good.safetensors"
    path.write_bytes(with_header(json.dumps({"b": GOOD["b"], "a": GOOD["a"]}), DATA))
    assert [tensor.name for tensor in read_header(str(path), "good")] == ["a", "b"]


def test_scalars_and_empty_tensors_are_tensors_too(tmp_path):
    tensors = {
        "scalar": RawTensor(dtype="F32", shape=(), data=bytes(4)),
        "empty": RawTensor(dtype="F32", shape=(0, 3), data=b""),
        "last": RawTensor(dtype="BF16", shape=(1,), data=bytes(2)),
    }
    path = tmp_path / "odd.safetensors"
    path.write_bytes(safetensors_bytes(tensors))
    assert {tensor.name: tensor.shape for tensor in read_header(str(path), "odd")} == {
        "scalar": (),
        "empty": (0, 3),
        "last": (1,),
    }


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "is truncated: 0 bytes cannot hold a safetensors header"),
        (b"\x10\0\0", "is truncated: 3 bytes cannot hold"),
        (struct.pack("<Q", 2**40) + b"{}", f"claims a header of {2**40} bytes, above 100000000"),
        (
            struct.pack("<Q", 99) + b"{}",
            "is truncated: its header ends at byte 107, the file at 10",
        ),
        (with_header("[]", b""), "has a header that does not start with '{'"),
        (with_header("{", b""), "is not strict JSON"),
        (with_header('{"a": ' * 3000, b""), "is not strict JSON"),
        (with_header(json.dumps(GOOD), DATA[:-1]), "is truncated: its header describes "),
        (with_header(json.dumps(GOOD), DATA + b"\0"), "is padded: its header describes "),
        (
            with_header(f'{{"a": {json.dumps(GOOD["a"])}, "a": {json.dumps(GOOD["a"])}}}', DATA),
            "is not strict JSON (the key 'a' is there twice)",
        ),
        (
            with_header('{"a": {"dtype": "BF16", "dtype": "F16"}}', DATA),
            "is not strict JSON (the key 'dtype' is there twice)",
        ),
        (with_header(changed("b", data_offsets=[6, 14]), DATA), "b overlaps the tensor before it"),
        (with_header(changed("b", shape=[1], data_offsets=[12, 16]), DATA), "b leaves a gap"),
        (with_header(changed("a", shape=[2, 3]), DATA), "a needs 12 bytes for BF16 [2, 3]"),
        (with_header(changed("a", dtype="F64"), DATA), "a has dtype 'F64'; known are BF16, F16"),
        (with_header(changed("a", dtype=["BF16"]), DATA), "a has dtype ['BF16']"),
        (with_header(changed("a", shape=[-2, -2]), DATA), "a has a shape or offsets that are not"),
        (with_header(changed("a", shape=[True, 4]), DATA), "a has a shape or offsets that are not"),
        (with_header(changed("a", shape=[2.0, 2]), DATA), "a has a shape or offsets that are not"),
        (
            with_header(changed("a", shape=[2**63, 2]), DATA),
            "a has a shape or offsets that are not",
        ),
        (
            with_header(changed("a", data_offsets=[8]), DATA),
            "a has a shape or offsets that are not",
        ),
        (with_header(changed("a", data_offsets=[8, 0]), DATA), "a needs 8 bytes for BF16"),
        (with_header(changed("a", strides=[1]), DATA), "a must have dtype, shape and data_offsets"),
        (with_header('{"a": 3}', DATA), "a must have dtype, shape and data_offsets"),
        (
            with_header('{"a": {"dtype": NaN}}', DATA),
            "is not strict JSON (NaN is not a JSON value)",
        ),
        (with_header(changed("", dtype="BF16"), DATA), "has a tensor name that is empty or not"),
        (with_header(json.dumps({"a\0b": GOOD["a"]}), DATA), "has a tensor name that is empty"),
        (with_header(json.dumps({"a\ud800": GOOD["a"]}), DATA), "has a tensor name that is empty"),
        (
            with_header(json.dumps({"__metadata__": {"format": 1}, **GOOD}), DATA),
            "has a __metadata__ that is not a map of strings",
        ),
    ],
)
def test_a_bad_header_is_refused_with_its_rule(tmp_path, content, rule):
    assert refusal(tmp_path, content).startswith(rule)


def test_a_header_that_is_not_utf8_is_refused(tmp_path):
    raw = b'{"\xff": {}}    '
    assert "is not strict JSON" in refusal(tmp_path, struct.pack("<Q", len(raw)) + raw)


def test_the_limit_is_checked_before_the_header_is_read(tmp_path):
    path = tmp_path / "sparse.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", HEADER_LIMIT_BYTES + 1))
        file.truncate(HEADER_LIMIT_BYTES * 2)
    with pytest.raises(Broken, match="claims a header of 100000001 bytes"):
        read_header(str(path), "sparse.safetensors")


@given(content=st.binary(max_size=200))
def test_no_bytes_at_all_make_the_reader_fail_in_another_way(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(content)
    try:
        tensors = read_header(str(path), "any")
    except Broken:
        return
    assert sum(tensor.end - tensor.begin for tensor in tensors) <= len(content)


@given(position=st.integers(min_value=0), flipped=st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_refused_or_leaves_a_consistent_file(tmp_path_factory, position, flipped):
    content = bytearray(with_header(json.dumps(GOOD), DATA))
    content[position % len(content)] ^= flipped
    path = tmp_path_factory.getbasetemp() / "flipped.safetensors"
    path.write_bytes(content)
    try:
        tensors = read_header(str(path), "flipped")
    except Broken:
        return
    assert sum(tensor.end - tensor.begin for tensor in tensors) == len(DATA)
