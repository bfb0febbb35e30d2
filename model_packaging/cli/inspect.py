"""`package-model inspect`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from model_packaging.cli.options import tracking_option
from model_packaging.cli.output import EXIT_CODES, Result, reporting, size, table
from model_packaging.errors import PackageRefused
from model_packaging.package import verify
from model_packaging.package.architecture import check_tied, count_parameters
from model_packaging.package.canonical import canonicalise
from model_packaging.package.golden import make_golden
from model_packaging.package.manifest import read_manifest
from model_packaging.package.refusing import refusing
from model_packaging.progress import Progress
from model_packaging.sources.registry import Registry


@click.command(epilog=EXIT_CODES, short_help="What is this package, directory or address?")
@click.argument("target")
@tracking_option
@reporting
def inspect(*, progress: Progress, target: str, tracking_uri: str | None) -> Result:
    """Say what TARGET is: a package, a model directory, or an address such as models:/NAME@ALIAS.

    A package's manifest is shown as it stands; `verify` compares it with the files. A directory or
    an address is judged as `build` would, without changing or publishing anything.
    """
    if target.startswith(("models:", "runs:")):
        return _address(target, tracking_uri, progress)
    directory = Path(target)
    if (directory / "manifest.json").is_file():
        return _package(directory)
    if directory.is_dir():
        return _directory(directory, progress)
    raise PackageRefused(
        where=target,
        rule="is neither a directory nor an address of the registry",
        fix="name a package, a Hugging Face directory, or models:/NAME@ALIAS",
    )


def _package(directory: Path) -> Result:
    manifest = read_manifest(directory)
    data = {
        "kind": "package",
        "package_digest": manifest.package_digest,
        "manifest": manifest.model_dump(mode="json", by_alias=True),
    }
    shown = {
        "package": f"{manifest.name} {manifest.version}",
        "source": f"{manifest.source.uri} ({manifest.source.model_id or manifest.source.run_id})",
        "package_digest": manifest.package_digest,
        "model_digest": manifest.model_digest,
        "weights_digest": manifest.weights_digest,
        "architecture": manifest.model.architecture,
        "parameters": f"{manifest.model.parameters:,}",
        "dtype": manifest.model.dtype,
        "files": f"{len(manifest.files)}, {size(sum(file.size for file in manifest.files))}",
        "renders": f"tools {manifest.chat.renders_tools}, "
        f"thinking {manifest.chat.renders_thinking}",
    }
    return Result(text=table(shown), data=data)


def _directory(directory: Path, progress: Progress) -> Result:
    with tempfile.TemporaryDirectory() as scratch:
        model = canonicalise(directory, Path(scratch), take=lambda _source, _target: None)
    place = str(directory / model.layout.model)
    progress.begin(
        "hashing the weights",
        total_bytes=sum(tensor.end - tensor.begin for tensor in model.weights.tensors()),
    )
    with refusing():
        hashes = verify.hash_weights(place, model.weights, progress.advance)
    check_tied(model.network, hashes.tensors)
    _, chat = make_golden(model.template, model.calls)
    tied = model.network.tied_embeddings
    found: dict[str, Any] = {
        "layout": model.layout.kind,
        "weights_digest": verify.weights_digest(model.weights, hashes.tensors, tied=tied),
        "architecture": model.network.architecture,
        "parameters": count_parameters(model.network, model.weights),
        "dtype": model.dtype,
        "tied_embeddings": tied,
        "tensors": len(hashes.tensors),
        "weights_files": sorted(model.weights.files),
        "tokens": model.tokenizer.vocab_size,
        "renders_tools": chat.renders_tools,
        "renders_thinking": chat.renders_thinking,
        "golden_calls": len(model.calls),
        "left_out": list(model.left_out),
    }
    shown = {
        key: ", ".join(value) if isinstance(value, list) else value for key, value in found.items()
    }
    return Result(text=table(shown), data={"kind": "directory", **found})


def _address(uri: str, tracking_uri: str | None, progress: Progress) -> Result:
    registry = Registry(tracking_uri)
    source = registry.resolve(uri)
    progress.note(f"{uri} is {source.pinned}")
    with tempfile.TemporaryDirectory() as scratch:
        layout, sizes = registry.artifacts(source).judge(Path(scratch))
    total = sum(count or 0 for count in sizes.values())
    found: dict[str, Any] = {
        "source": uri,
        "pinned": source.pinned,
        "registered_model": source.registered_model,
        "version": source.registered_version,
        "model_id": source.model_id,
        "run_id": source.run_id,
        "aliases": list(source.aliases_seen),
        "layout": layout.kind,
        "bytes": total,
    }
    listed = [f"  {path} ({size(count or 0)})" for path, count in sorted(sizes.items())]
    shown = {**found, "aliases": ", ".join(source.aliases_seen) or "none", "bytes": size(total)}
    return Result(
        text="\n".join([table(shown), "files", *listed]),
        data={"kind": "address", **found, "files": sizes},
    )
