"""What a package says about itself: `manifest.json`, schema `perimeter.package/1`.

docs/package-format.md describes every field with a full example. The digest of a package is the
SHA-256 of these bytes, so they are canonical: sorted keys, no spaces, UTF-8, one final newline.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from model_packaging.errors import VerificationFailed
from model_packaging.package.verify import SCHEMA, Broken, strict_json

Role = Literal[
    "weights",
    "index",
    "config",
    "generation_config",
    "tokenizer",
    "chat_template",
    "golden",
    "router",
    "verifier",
    "provenance",
]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
# Both are directory names in the store and parts of an object key.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class PackagedFile(_Frozen):
    """One file of the package."""

    path: str = Field(description="relative to the package, with forward slashes")
    size: int = Field(ge=0, description="bytes")
    sha256: Hex = Field(description="of the file's bytes")
    role: Role = Field(description="what the file is for")


class Source(_Frozen):
    """Where the model came from; nothing here is needed to run it."""

    uri: str = Field(description="the address as it was asked for")
    registered_model: str | None = Field(description="name in the registry")
    version: str | None = Field(description="version in the registry")
    aliases_seen: tuple[str, ...] = Field(description="aliases of that version at build time")
    model_id: str | None = Field(description="the registry's own id of the logged model")
    run_id: str | None = Field(description="the run that logged it")
    experiment_id: str | None = Field(description="the experiment of that run")
    flavor: str = Field(description="the layout it was logged in")
    git_commit: str | None = Field(description="commit of the training code, where recorded")
    training: dict[str, str] = Field(description="parameters and tags of the run")
    metrics: dict[str, float] = Field(description="metrics of the run, last values")


class Quantization(_Frozen):
    """How the weights are quantised."""

    method: str = Field(description="the method's name in config.json")


class Architecture(_Frozen):
    """The network, from config.json and the headers of the weights."""

    architecture: str = Field(description="class name in config.json")
    model_type: str = Field(description="family in config.json")
    parameters: int = Field(gt=0, description="numbers in all tensors; a tied layer counts once")
    dtype: str = Field(description="of the weights, as safetensors names it")
    tied_embeddings: bool = Field(description="whether the output layer is the embedding")
    num_hidden_layers: int = Field(gt=0)
    num_attention_heads: int = Field(gt=0)
    num_key_value_heads: int = Field(gt=0)
    head_dim: int = Field(gt=0)
    hidden_size: int = Field(gt=0)
    vocab_size: int = Field(gt=0, description="rows of the embedding")
    max_position_embeddings: int = Field(gt=0, description="tokens")
    quantization: Quantization | None = Field(description="null for plain weights")


class Tokenizer(_Frozen):
    """The tokenizer, from tokenizer.json and the configuration files."""

    vocab_size: int = Field(gt=0, description="tokens, added ones included")
    eos_token: str = Field(description="the text of the token that ends a turn")
    eos_token_ids: tuple[int, ...] = Field(description="every id that ends generation, sorted")
    pad_token: str | None = Field(description="the text of the padding token")


class Chat(_Frozen):
    """The chat template, from rendering it."""

    template_sha256: Hex = Field(description="of chat_template.jinja")
    renders_tools: bool = Field(description="whether offered tools change the prompt")
    renders_thinking: bool = Field(description="whether enable_thinking changes the prompt")


class Manifest(_Frozen):
    """Everything a package says about itself."""

    schema_: Literal["perimeter.package/1"] = Field(alias="schema")
    name: Name = Field(description="name of the package")
    version: Name = Field(description="version of the package")
    weights_digest: Digest = Field(description="of the tensors, whatever files they lie in")
    model_digest: Digest = Field(description="of the files below model/")
    files: tuple[PackagedFile, ...] = Field(description="sorted by the bytes of the path")
    source: Source
    model: Architecture
    tokenizer: Tokenizer
    chat: Chat

    @model_validator(mode="after")
    def _files_are_sorted_and_unique(self) -> Manifest:
        paths = [entry.path.encode() for entry in self.files]
        if paths != sorted(set(paths)):
            raise ValueError("files must be sorted by path, each path once")
        return self

    def to_bytes(self) -> bytes:
        """The canonical bytes; `from_bytes` reads them back to an equal manifest."""
        return canonical_json(self.model_dump(mode="json", by_alias=True))

    @property
    def package_digest(self) -> str:
        """The digest of the whole package: SHA-256 of the canonical bytes."""
        return "sha256:" + hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def model_hashes(self) -> dict[str, str]:
        """Path relative to model/ -> SHA-256 (hex): what a served directory must hold."""
        inside = [entry for entry in self.files if entry.path.startswith("model/")]
        return {entry.path.removeprefix("model/"): entry.sha256 for entry in inside}

    @classmethod
    def from_bytes(cls, raw: bytes, *, where: str = "manifest.json") -> Manifest:
        """Read a manifest. Raises VerificationFailed for an unknown schema, key or value."""
        fix = "build the package again with this version, or use the version that built it"
        try:
            parsed = strict_json(raw, where)
            found = parsed.get("schema") if isinstance(parsed, dict) else None
            if found != SCHEMA:
                raise Broken(where, f"is of schema {found!r}, this version reads {SCHEMA}", fix)
            manifest = cls.model_validate_json(raw)
            if manifest.to_bytes() != raw:
                raise Broken(where, "is not canonical JSON, so its digest means nothing", fix)
        except Broken as broken:
            raise VerificationFailed(where=where, rule=broken.rule, fix=broken.fix) from broken
        except ValidationError as invalid:
            first = invalid.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the manifest"
            rule = f"{field} is not as docs/package-format.md says: {first['msg']}"
            raise VerificationFailed(where=where, rule=rule, fix=fix) from invalid
        return manifest


def canonical_json(value: object) -> bytes:
    """The one way a value is written: sorted keys, no spaces, UTF-8, a newline at the end."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return (text + "\n").encode()


def read_manifest(directory: Path) -> Manifest:
    """The manifest of a package directory, without looking at the other files.

    Raises VerificationFailed when it is missing or not as docs/package-format.md says.
    """
    path = directory / "manifest.json"
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise VerificationFailed(
            where=str(path),
            rule=f"cannot be read ({error.strerror})",
            fix="name a package directory, such as .perimeter/packages/<name>/<version>",
        ) from error
    return Manifest.from_bytes(raw, where=str(path))
