"""What may not become a package is refused with file, rule and fix, and leaves no trace."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package.store import Store
from tests.packaging.packages import build, traces
from tests.packaging.tiny_model import (
    INDEX,
    RawTensor,
    as_logged,
    configuration,
    edit_json,
    random_tensors,
    write_json,
    write_model,
    write_weights,
)

WEIGHTS = "model.safetensors"
FIRST, SECOND = (f"model-0000{number}-of-00002.safetensors" for number in (1, 2))
Q_PROJ = "model.layers.1.self_attn.q_proj.weight"


def file(name: str, content: bytes = b"\x80\x04.") -> Callable[[Path], None]:
    def add(model: Path) -> None:
        path = model / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return add


def cut(name: str, count: int) -> Callable[[Path], None]:
    def spoil(model: Path) -> None:
        with (model / name).open("r+b") as opened:
            opened.truncate((model / name).stat().st_size - count)

    return spoil


def pad(model: Path) -> None:
    with (model / WEIGHTS).open("ab") as opened:
        opened.write(bytes(8))


def repeat_header_key(model: Path) -> None:
    content = (model / WEIGHTS).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = content[8 : 8 + length].rstrip()
    twice = header[:-1] + b', "model.norm.weight": {}}'
    (model / WEIGHTS).write_bytes(struct.pack("<Q", len(twice)) + twice + content[8 + length :])


def tensors(change: Callable[[dict[str, RawTensor]], object]) -> Callable[[Path], None]:
    def spoil(model: Path) -> None:
        found = random_tensors(configuration())
        change(found)
        write_weights(model, found)

    return spoil


def rename_wrapped(found: dict[str, RawTensor]) -> None:
    found[Q_PROJ.replace(".weight", ".base_layer.weight")] = found.pop(Q_PROJ)


def transpose(found: dict[str, RawTensor]) -> None:
    tensor = found[Q_PROJ]
    found[Q_PROJ] = RawTensor(dtype="BF16", shape=tensor.shape[::-1], data=tensor.data)


def one_as_half(found: dict[str, RawTensor]) -> None:
    tensor = found[Q_PROJ]
    found[Q_PROJ] = RawTensor(dtype="F16", shape=tensor.shape, data=tensor.data)


def config(**changes: object) -> Callable[[Path], None]:
    return lambda model: edit_json(model / "config.json", changes)


def without(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


def link(model: Path) -> None:
    (model / WEIGHTS).rename(model.parent / "elsewhere")
    (model / WEIGHTS).symlink_to(model.parent / "elsewhere")


def link_folder(model: Path) -> None:
    (model / "extra").symlink_to("/", target_is_directory=True)


def hide_by_case(model: Path) -> None:
    (model / "Config.json").write_text("{}")


def hide_by_accents(model: Path) -> None:
    (model / "caf\u00e9.md").write_text("")
    (model / "cafe\u0301.md").write_text("")


def name_that_is_no_text(model: Path) -> None:
    Path(os.fsdecode(os.fsencode(model) + b"/\xff.md")).write_text("")


SINGLE = [
    (file("pytorch_model.bin"), "pytorch_model.bin: may be a pickle, and loading a pickle runs"),
    (file("optimizer.pt"), "optimizer.pt: may be a pickle"),
    (file("extra/state.PKL"), "extra/state.PKL: may be a pickle"),
    (file("modeling_tiny.py", b""), "modeling_tiny.py: is code; a package holds none"),
    (file("model.gguf"), "model.gguf: holds weights in a format that cannot be checked"),
    (file("adapter_config.json", b"{}"), "adapter_config.json: belongs to a LoRA adapter"),
    (file("line\nbreak.md"), "line\\nbreak.md: holds control characters"),
    (file("back\\slash.md"), "back\\\\slash.md: is not a relative path with forward slashes"),
    (name_that_is_no_text, "\\udcff.md: holds control characters"),
    (hide_by_case, "config.json: differs from Config.json by case or accents only"),
    (hide_by_accents, "caf\u00e9.md: differs from cafe\u0301.md by case or accents only"),
    (link, f"{WEIGHTS}: is a symbolic link"),
    (link_folder, "extra: is a symbolic link"),
    (lambda model: os.mkfifo(model / "pipe"), "pipe: is neither a file nor a directory"),
    (file(WEIGHTS), f"{WEIGHTS}: is truncated: 3 bytes cannot hold a safetensors header"),
    (cut(WEIGHTS, 1), f"{WEIGHTS}: is truncated: its header describes"),
    (pad, f"{WEIGHTS}: is padded: its header describes"),
    (repeat_header_key, f"{WEIGHTS}: is not strict JSON (the key 'model.norm.weight' is there"),
    (without(WEIGHTS), f"{INDEX}: is missing: without it there must be {WEIGHTS} alone"),
    (
        file("copy.safetensors"),
        f"{INDEX}: is missing: without it there must be {WEIGHTS} alone, there is copy.safetensors",
    ),
    (tensors(lambda found: found.pop(Q_PROJ)), f"{WEIGHTS}: lacks {Q_PROJ}, which config.json"),
    (tensors(rename_wrapped), f"{WEIGHTS}: lacks {Q_PROJ}"),
    (
        tensors(lambda found: found.update({"model.extra": found["model.norm.weight"]})),
        f"{WEIGHTS}: holds model.extra, which config.json does not ask for",
    ),
    (tensors(transpose), f"{WEIGHTS}: holds {Q_PROJ} as [16, 32], config.json gives [32, 16]"),
    (tensors(one_as_half), f"{WEIGHTS}: holds {Q_PROJ} as F16, expected BF16"),
    (config(num_hidden_layers=3), f"{WEIGHTS}: lacks model.layers.2.input_layernorm.weight"),
    (config(num_hidden_layers=1), f"{WEIGHTS}: holds model.layers.1.input_layernorm.weight"),
    (config(tie_word_embeddings=False), f"{WEIGHTS}: lacks lm_head.weight"),
    (config(auto_map={"AutoModel": "m.Tiny"}), "config.json: holds auto_map: loading the model"),
    (config(model_type="gpt2"), "config.json: describes ['Qwen3ForCausalLM'] of type 'gpt2'"),
    (config(architectures=None), "config.json: describes None of type 'qwen3'"),
    (config(hidden_size="16"), "config.json: gives hidden_size as '16', expected a positive"),
    (config(attention_bias=0), "config.json: gives attention_bias as 0, expected true or false"),
    (config(num_key_value_heads=3), "config.json: has 4 attention heads that 3 key-value heads"),
    (config(quantization_config={}), "config.json: says that the weights are quantised already"),
    (config(use_sliding_window=True), "config.json: switches sliding windows on"),
    (config(dtype="float32"), "config.json: gives dtype float32, the weights are bfloat16"),
    (config(rope_theta=10_000), "config.json: gives rope_theta 10000 and 5000000.0"),
    (config(rope_parameters=None), "config.json: states no rope_theta; libraries differ"),
    (config(vocab_size=263), f"{WEIGHTS}: holds model.embed_tokens.weight as [264, 16]"),
    (file("config.json", b'{"a": 1, "a": 2}'), "config.json: is not strict JSON (the key 'a'"),
    (file("config.json", b"[]"), "config.json: is not a JSON object"),
    (without("config.json"), "config.json: is missing: it is the model's configuration"),
    (without("tokenizer.json"), "tokenizer.json: is missing: it is the tokenizer"),
    (
        without("chat_template.jinja"),
        "chat_template.jinja: is missing: without a chat template the engine cannot build a prompt",
    ),
    (file("chat_template.jinja", b"  \n"), "chat_template.jinja: is empty, or "),
    (file("chat_template.jinja", b"{% if %}"), "chat_template.jinja: is not a template that"),
    (file("golden_calls.json", b"{}"), "golden_calls.json: the file is not as it should be"),
]
IN_SHARDS = [
    (cut(SECOND, 2), f"{SECOND}: is truncated: its header describes"),
    (without(SECOND), f"{SECOND}: is missing: {INDEX} places tensors in it"),
    (file(WEIGHTS), f"{WEIGHTS}: is not in {INDEX}: some engines would load it in place of"),
]
PLACES = ["../model.safetensors", "/srv/model.safetensors", "a/../model.safetensors"]


def refusal(model: Path, store: Store) -> str:
    with pytest.raises(PackageRefused) as caught:
        build(model, store)
    assert traces(store) == [], "a refused model must leave nothing behind"
    assert caught.value.fix
    return str(caught.value)


@pytest.mark.parametrize(("spoil", "message"), SINGLE, ids=[rule[:40] for _, rule in SINGLE])
def test_it_is_refused_with_its_file_and_rule(model, store, spoil, message):
    spoil(model)
    assert refusal(model, store).startswith(message)


@pytest.mark.parametrize(("spoil", "message"), IN_SHARDS, ids=[rule[:40] for _, rule in IN_SHARDS])
def test_it_is_refused_among_shards(tmp_path, store, spoil, message):
    model = write_model(tmp_path / "incoming", shards=2)
    spoil(model)
    assert refusal(model, store).startswith(message)


@pytest.mark.parametrize("place", PLACES)
def test_an_index_that_leaves_its_directory_is_refused(tmp_path, store, place):
    model = write_model(tmp_path / "incoming", shards=2)
    index = json.loads((model / INDEX).read_text())
    index["weight_map"]["model.norm.weight"] = place
    write_json(model / INDEX, index)
    assert refusal(model, store).startswith(
        f"{INDEX}: places model.norm.weight in '{place}': only a file of the same directory may"
    )


@pytest.mark.parametrize("known_to", ["index", "header"])
def test_index_and_headers_must_know_the_same_tensors(tmp_path, store, known_to):
    model = write_model(tmp_path / "incoming", shards=2)
    index = json.loads((model / INDEX).read_text())
    if known_to == "index":
        index["weight_map"]["model.more"] = FIRST
        expected = f"{INDEX}: places model.more in {FIRST}, which lacks it"
    else:
        holder = index["weight_map"].pop("model.norm.weight")
        expected = f"{INDEX}: places model.norm.weight in no file, but {holder} holds it"
    write_json(model / INDEX, index)
    assert refusal(model, store).startswith(expected)


def test_a_refusal_leaves_older_versions_alone(model, store):
    build(model, store)
    before = traces(store)
    cut(WEIGHTS, 4)(model)
    with pytest.raises(PackageRefused):
        build(model, store)
    assert traces(store) == before


def test_the_same_rules_hold_for_a_model_as_mlflow_logs_it(model, tmp_path, store):
    cut(WEIGHTS, 1)(model)
    logged = as_logged(model, tmp_path / "logged")
    assert refusal(logged, store).startswith(f"model/{WEIGHTS}: is truncated")
