"""From a downloaded model to a published package."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from model_packaging.errors import PackageRefused
from model_packaging.package import verify
from model_packaging.package.architecture import check_tied, count_parameters
from model_packaging.package.canonical import ROLES, CanonicalModel, canonicalise, copy, move
from model_packaging.package.golden import make_golden
from model_packaging.package.manifest import (
    Architecture,
    Manifest,
    PackagedFile,
    Role,
    Source,
)
from model_packaging.package.refusing import refusing
from model_packaging.package.store import Store
from model_packaging.package.verifying import verify_package
from model_packaging.progress import Progress
from model_packaging.sources.resolved import ResolvedSource

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def build_package(
    resolved: ResolvedSource,
    download: Path,
    store: Store,
    progress: Progress,
    *,
    confirm: Callable[[ResolvedSource], None] | None = None,
) -> Manifest:
    """Check a download, make it a package and publish it; returns the manifest that now stands.

    Files of a download that lies in the store's staging are moved, others are copied. `confirm` is
    asked last before publishing and stops the build by raising. Raises PackageRefused; nothing is
    in the store then that was not there before.
    """
    check_package_name(resolved)
    with store.staging() as stage:
        package = stage / "package"
        model = package / "model"
        model.mkdir(parents=True)
        take = move if store.is_staged(download) else copy
        canonical = canonicalise(download, model, take=take)
        for path in canonical.left_out:
            progress.note(f"left out: {path}")
        manifest = _complete(package, canonical, resolved, progress)
        if confirm is not None:
            confirm(resolved)
        published = store.publish(package, manifest)
    directory = store.package_directory(name=published.name, version=published.version)
    if published is manifest:
        progress.note(f"published {directory}")
    else:
        # It was published by an earlier build; whether it is still whole is another question.
        verify_package(directory, progress)
        progress.note(f"unchanged {directory}")
    return published


def check_package_name(resolved: ResolvedSource) -> None:
    """Refuse names that cannot be a directory and an object key. Raises PackageRefused."""
    for what, value in (("name", resolved.name), ("version", resolved.version)):
        if not _NAME.fullmatch(value) or (what, value) == ("name", "blobs"):
            raise PackageRefused(
                where=resolved.uri,
                rule=f"has the {what} {value!r}, which cannot be the {what} of a package",
                fix="register it under a name of letters, digits, dots, dashes and underscores",
            )


def _complete(
    package: Path, canonical: CanonicalModel, resolved: ResolvedSource, progress: Progress
) -> Manifest:
    model = package / "model"
    total = sum((model / name).stat().st_size for name in canonical.weights.files)
    progress.begin("hashing the weights", total_bytes=total)
    with refusing():
        hashes = verify.hash_weights(str(model), canonical.weights, progress.advance)
    check_tied(canonical.network, hashes.tensors)
    golden, chat = make_golden(canonical.template, canonical.calls)
    beside: dict[str, tuple[Role, bytes]] = {
        "golden.json": ("golden", golden.to_bytes()),
        "verify.py": ("verifier", Path(verify.__file__).read_bytes()),
    }
    for path, content in canonical.provenance.items():
        beside[f"provenance/{path}"] = ("provenance", content)
    for path, (_, content) in beside.items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_bytes(content)
    roles: dict[str, Role] = {path: role for path, (role, _) in beside.items()}
    roles |= {f"model/{name}": "weights" for name in canonical.weights.files}
    roles |= {f"model/{name}": role for name, role in ROLES.items() if (model / name).exists()}
    known = {f"model/{name}": digest for name, digest in hashes.files.items()}
    files = [_file(package, path, role, known) for path, role in roles.items()]
    files.sort(key=lambda entry: entry.path.encode())
    inside = {
        entry.path.removeprefix("model/"): entry.sha256
        for entry in files
        if entry.path.startswith("model/")
    }
    tied = canonical.network.tied_embeddings
    manifest = Manifest(
        schema="perimeter.package/1",
        name=resolved.name,
        version=resolved.version,
        weights_digest=verify.weights_digest(canonical.weights, hashes.tensors, tied=tied),
        model_digest=verify.tree_digest(inside),
        files=tuple(files),
        source=_source(resolved, canonical),
        model=_architecture(canonical),
        tokenizer=canonical.tokenizer,
        chat=chat,
    )
    _write_sums(package, manifest)
    return manifest


def _write_sums(package: Path, manifest: Manifest) -> None:
    raw = manifest.to_bytes()
    (package / "manifest.json").write_bytes(raw)
    covered = {entry.path: entry.sha256 for entry in manifest.files}
    covered["manifest.json"] = hashlib.sha256(raw).hexdigest()
    (package / "SHA256SUMS").write_bytes(verify.sums(covered))


def _file(package: Path, path: str, role: Role, known: Mapping[str, str]) -> PackagedFile:
    place = package / path
    digest = known.get(path) or verify.hash_file(str(place))
    return PackagedFile(path=path, size=place.stat().st_size, sha256=digest, role=role)


def _source(resolved: ResolvedSource, canonical: CanonicalModel) -> Source:
    return Source(
        uri=resolved.uri,
        registered_model=resolved.registered_model,
        version=resolved.registered_version,
        aliases_seen=resolved.aliases_seen,
        model_id=resolved.model_id,
        run_id=resolved.run_id,
        experiment_id=resolved.experiment_id,
        flavor=canonical.layout.kind,
        git_commit=resolved.git_commit,
        training=dict(resolved.training),
        metrics=dict(resolved.metrics),
    )


def _architecture(canonical: CanonicalModel) -> Architecture:
    network = canonical.network
    return Architecture(
        architecture=network.architecture,
        model_type=network.model_type,
        parameters=count_parameters(network, canonical.weights),
        dtype=canonical.dtype,
        tied_embeddings=network.tied_embeddings,
        num_hidden_layers=network.num_hidden_layers,
        num_attention_heads=network.num_attention_heads,
        num_key_value_heads=network.num_key_value_heads,
        head_dim=network.head_dim,
        hidden_size=network.hidden_size,
        vocab_size=network.vocab_size,
        max_position_embeddings=network.max_position_embeddings,
        quantization=None,
    )
