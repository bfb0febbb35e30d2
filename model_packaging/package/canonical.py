"""A download becomes one flat directory that every reader reads alike.

Only the files named here arrive. The weights are moved, never rewritten; the small JSON files are
written anew in the portable dialect; whatever else was logged stays behind and is named.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model_packaging.errors import PackageRefused
from model_packaging.package.architecture import (
    PLAIN_DTYPES,
    Network,
    check_tensors,
    read_network,
)
from model_packaging.package.chat import ChatTemplate
from model_packaging.package.dialect import (
    portable_config,
    portable_generation_config,
    pretty_json,
)
from model_packaging.package.golden import CALLS_FILE, ToolCalls, read_calls
from model_packaging.package.manifest import Role, Tokenizer
from model_packaging.package.refusing import read_object, refusing
from model_packaging.package.tokenizer import (
    NAMED,
    TokenizerFiles,
    check_split_rule,
    portable_tokenizer_config,
    token_ids_of,
    token_text,
)
from model_packaging.package.verify import INDEX, Weights, list_files, read_weights
from model_packaging.sources.layout import Layout, layout_of_directory
from model_packaging.sources.names import check_kinds, check_paths

TEMPLATE = "chat_template.jinja"
_OF_MODEL: dict[str, Role] = {
    "config.json": "config",
    "generation_config.json": "generation_config",
    INDEX: "index",
}
_OF_TOKENIZER: dict[str, Role] = {
    "tokenizer.json": "tokenizer",
    "tokenizer_config.json": "tokenizer",
    TEMPLATE: "chat_template",
}
# What a flat model directory holds beside its weights.
ROLES = _OF_MODEL | _OF_TOKENIZER
_PROVENANCE = re.compile(r"MLmodel|(LICEN[CS]E|NOTICE)(\.(txt|md))?")
# Said again by tokenizer.json, and compared with it or not needed beside it.
_REPEATED = ("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt")
# Larger than any tokenizer; it is read into memory.
_LIMIT_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class CanonicalModel:
    """A flat model directory and what was learned on the way."""

    layout: Layout
    network: Network
    weights: Weights
    dtype: str
    tokenizer: Tokenizer
    template: ChatTemplate
    calls: tuple[ToolCalls, ...]
    provenance: Mapping[str, bytes]
    left_out: tuple[str, ...]


def canonicalise(
    download: Path, target: Path, *, take: Callable[[Path, Path], None]
) -> CanonicalModel:
    """Fill the empty directory `target` from a download; `take` moves or copies one file.

    Everything that can be checked without reading the weights' data is checked before the first
    file is taken. Raises PackageRefused.
    """
    with refusing():
        sizes = list_files(str(download))
    check_paths(sizes)
    layout = layout_of_directory(download, sizes)
    check_kinds(sizes)
    reader = _Reader(download, layout, sizes)
    network = read_network(reader.read_object(layout.model + "config.json"))
    with refusing():
        weights = read_weights(str(download / layout.model), layout.model)
    dtype = check_tensors(network, weights, folder=layout.model)
    files, tokenizer, template = _small_files(reader, network, dtype=PLAIN_DTYPES[dtype])
    calls = reader.calls()
    for name in weights.files:
        take(download / layout.model / name, target / name)
    if layout.model + INDEX in sizes:
        placed = {tensor.name: name for name, held in weights.files.items() for tensor in held}
        total = sum(tensor.end - tensor.begin for tensor in weights.tensors())
        files[INDEX] = pretty_json({"metadata": {"total_size": total}, "weight_map": placed})
    take(download / layout.tokenizer / "tokenizer.json", target / "tokenizer.json")
    for name, content in files.items():
        (target / name).write_bytes(content)
    used = {layout.model + name for name in (*weights.files, *_OF_MODEL)}
    used |= {layout.tokenizer + name for name in (*_OF_TOKENIZER, *_REPEATED)}
    provenance = reader.provenance()
    left_out = set(sizes) - used - reader.calls_paths - set(provenance)
    return CanonicalModel(
        layout=layout,
        network=network,
        weights=weights,
        dtype=dtype,
        tokenizer=tokenizer,
        template=template,
        calls=calls,
        provenance=provenance,
        left_out=tuple(sorted(left_out)),
    )


def move(source: Path, target: Path) -> None:
    """Take a file that nobody else can write to any more: no byte is copied.

    One that has a second name elsewhere could still be written to there, and is copied.
    """
    if source.stat().st_nlink > 1:
        copy(source, target)
    else:
        os.rename(source, target)


def copy(source: Path, target: Path) -> None:
    """Take a copy, for files that stay somebody else's."""
    shutil.copyfile(source, target)


class _Reader:
    def __init__(self, download: Path, layout: Layout, sizes: Mapping[str, int]) -> None:
        self.download, self.layout, self.sizes = download, layout, sizes
        # A raw directory may hold the calls at its root: there is no extra_files to log them in.
        folders = {layout.extra, *([""] if layout.kind == "huggingface_directory" else [])}
        self.calls_paths = {folder + CALLS_FILE for folder in folders} & set(sizes)

    def read(self, path: str) -> bytes:
        if self.sizes[path] > _LIMIT_BYTES:
            rule = f"is {self.sizes[path]} bytes long, the limit is {_LIMIT_BYTES}"
            raise PackageRefused(where=path, rule=rule, fix="save the model again")
        return (self.download / path).read_bytes()

    def read_object(self, path: str) -> dict[str, Any]:
        return read_object(self.read(path), path)

    def optional(self, path: str) -> dict[str, Any] | None:
        return self.read_object(path) if path in self.sizes else None

    def calls(self) -> tuple[ToolCalls, ...]:
        rows = [read_calls(self.read(path), path) for path in sorted(self.calls_paths)]
        if len(rows) > 1:
            rule = f"is there twice: {' and '.join(sorted(self.calls_paths))}"
            raise PackageRefused(where=CALLS_FILE, rule=rule, fix="log it once")
        return rows[0] if rows else ()

    def provenance(self) -> dict[str, bytes]:
        return {path: self.read(path) for path in self.sizes if _PROVENANCE.fullmatch(path)}


def _small_files(
    reader: _Reader, network: Network, *, dtype: str
) -> tuple[dict[str, bytes], Tokenizer, ChatTemplate]:
    model, folder = reader.layout.model, reader.layout.tokenizer
    config = reader.read_object(model + "config.json")
    found = TokenizerFiles(
        tokenizer=reader.read_object(folder + "tokenizer.json"),
        config=reader.read_object(folder + "tokenizer_config.json"),
        special_tokens_map=reader.optional(folder + "special_tokens_map.json"),
        added_tokens=reader.optional(folder + "added_tokens.json"),
    )
    ids = token_ids_of(found.tokenizer)
    check_split_rule(found.tokenizer, family=network.model_type)
    tokenizer_config = portable_tokenizer_config(found, ids)
    end, highest = token_text(tokenizer_config.get("eos_token")), max(ids.values(), default=-1)
    if highest >= network.vocab_size:
        raise PackageRefused(
            where=folder + "tokenizer.json",
            rule=f"holds token {highest}, the embedding has rows 0 to {network.vocab_size - 1}",
            fix="log the tokenizer that the model was trained with",
        )
    if end is None:
        raise PackageRefused(
            where=folder + "tokenizer_config.json",
            rule="names no eos_token, so the engine would not know when to stop",
            fix="set the tokenizer's eos_token to the end of a turn and save it again",
        )
    generation = portable_generation_config(
        reader.optional(model + "generation_config.json"), config=config, end_token=ids[end]
    )
    source = _template_source(reader, folder)
    named = {name: token_text(tokenizer_config.get(name)) for name in NAMED}
    special = {name: text for name, text in named.items() if text is not None}
    described = Tokenizer(
        vocab_size=len(ids),
        eos_token=end,
        eos_token_ids=tuple(sorted(generation["eos_token_id"])),
        pad_token=special.get("pad_token"),
    )
    files = {
        "config.json": pretty_json(portable_config(config, dtype=dtype)),
        "generation_config.json": pretty_json(generation),
        "tokenizer_config.json": pretty_json(tokenizer_config),
        TEMPLATE: source.encode(),
    }
    return files, described, ChatTemplate(source, special_tokens=special)


def _template_source(reader: _Reader, folder: str) -> str:
    path, inline = folder + TEMPLATE, folder + "tokenizer_config.json"
    several = [name for name in reader.sizes if name.startswith(folder + "additional_chat_")]
    written = reader.read_object(inline).get("chat_template")
    if several or not isinstance(written, str | None):
        rule = "comes with several chat templates; the engines choose among them differently"
        fix = "save the tokenizer with one template, which renders tools as well"
        raise PackageRefused(where=min(several, default=inline), rule=rule, fix=fix)
    fix = "set the tokenizer's chat_template to the one it was trained with, and log it again"
    if path not in reader.sizes:
        if not written:
            rule = "is missing: without a chat template the engine cannot build a prompt"
            raise PackageRefused(where=path, rule=rule, fix=fix)
        return written
    try:
        source = reader.read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise PackageRefused(where=path, rule="is not UTF-8", fix=fix) from error
    if not source.strip() or written not in (None, source):
        rule = f"is empty, or {inline} holds another chat template"
        raise PackageRefused(where=path, rule=rule, fix=fix)
    return source
