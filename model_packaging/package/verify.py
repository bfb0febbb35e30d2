"""Check a model package with Python's standard library alone (3.9 or newer, nothing to install).

    python verify.py [DIR] [--json] [--expect sha256:HEX]
        a package: the directory with manifest.json (default: the one this file lies in)
    python verify.py MODEL_DIR --weights-only [--json] [--expect sha256:HEX]
        the weights digest of a plain Hugging Face directory

Exit 0: everything is as written. Exit 5: it is not; the message names file, rule and next step.

Every package carries this file byte for byte, and the tool that builds packages imports it: the
safetensors reader and the digests exist once. Agreement shows that nothing changed by accident.
Only `--expect`, with the digest from the lock file, shows that it is the package that was meant.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

EXIT_OK = 0
EXIT_FAILED = 5
SCHEMA = "perimeter.package/1"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
HEADER_LIMIT_BYTES = 100_000_000  # the format's own; a larger header only exhausts memory
CHUNK_BYTES = 4 * 1024 * 1024
# What both engines can load: no booleans, no doubles, no 4-bit packings.
DTYPE_BYTES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1, "F8_E5M2": 1}
DTYPE_BYTES.update({"I8": 1, "U8": 1, "I32": 4, "I64": 8})
SAVE_AGAIN = "save the model again as safetensors into an empty directory, or copy the file again"
COPY_AGAIN = "copy or download the package again from where it was built"

Advance = Callable[[int], None]


class Broken(Exception):
    """A rule that the files break: `where` it is, the `rule`, and how to `fix` it."""

    def __init__(self, where: str, rule: str, fix: str) -> None:
        super().__init__(f"{where}: {rule}\n  fix: {fix}")
        self.where, self.rule, self.fix = where, rule, fix


class Tensor(NamedTuple):
    """One tensor of a header; `begin` and `end` count bytes from the start of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Weights(NamedTuple):
    """The tensors of a directory, by file, in the order of their bytes."""

    files: dict[str, list[Tensor]]

    def tensors(self) -> list[Tensor]:
        """Every tensor, sorted by the UTF-8 bytes of its name."""
        every = [tensor for held in self.files.values() for tensor in held]
        return sorted(every, key=lambda tensor: tensor.name.encode("utf-8"))


class Hashes(NamedTuple):
    """SHA-256 (hex) of whole files, and of the bytes of each tensor, from one reading."""

    files: dict[str, str]
    tensors: dict[str, str]


def strict_json(data: bytes, where: str) -> Any:
    """Parse JSON that can be read in one way only: UTF-8, no key twice, no NaN. Raises Broken."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"the key {twice!r} is there twice")
        return found

    def no_constant(text: str) -> Any:
        raise ValueError(f"{text} is not a JSON value")

    try:
        text = data.decode("utf-8")
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Broken(where, f"is not strict JSON ({error})", "write the file again") from error


def read_header(path: str, where: str) -> list[Tensor]:
    """The tensors of one safetensors file, in the order of their bytes.

    Holds afterwards: no name is there twice, every dtype is known, every length fits its shape,
    and the tensors cover the data without gap or overlap to the last byte. Raises Broken.
    """

    def refuse(rule: str) -> Broken:
        return Broken(where, rule, SAVE_AGAIN)

    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8:
            raise refuse(f"is truncated: {size} bytes cannot hold a safetensors header")
        if length > HEADER_LIMIT_BYTES:
            raise refuse(f"claims a header of {length} bytes, above {HEADER_LIMIT_BYTES}")
        if 8 + length > size:
            raise refuse(f"is truncated: its header ends at byte {8 + length}, the file at {size}")
        raw = file.read(length)
    if not raw.startswith(b"{"):
        raise refuse("has a header that does not start with '{'")
    header = strict_json(raw, where)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or any(type(v) is not str for v in metadata.values()):
        raise refuse("has a __metadata__ that is not a map of strings")
    tensors = [_tensor(where, name, entry) for name, entry in header.items()]
    tensors.sort(key=lambda tensor: (tensor.begin, tensor.end))
    position = 0
    for tensor in tensors:
        if tensor.begin != position:
            kind = "overlaps the tensor before it" if tensor.begin < position else "leaves a gap"
            raise refuse(f"{tensor.name} {kind}: it starts at {tensor.begin}, not at {position}")
        position = tensor.end
    described = 8 + length + position
    if described != size:
        kind = "truncated" if described > size else "padded"
        raise refuse(f"is {kind}: its header describes {described} bytes, the file has {size}")
    return tensors


def _tensor(where: str, name: str, entry: Any) -> Tensor:
    def refuse(rule: str) -> Broken:
        return Broken(where, rule, SAVE_AGAIN)

    # A control character would make two different lists of tensors look alike in the digest.
    if not name or any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in name):
        raise refuse(f"has a tensor name that is empty or not plain text: {name!r}")
    if not isinstance(entry, dict) or sorted(entry) != ["data_offsets", "dtype", "shape"]:
        raise refuse(f"{name} must have dtype, shape and data_offsets, and nothing else")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise refuse(f"{name} has dtype {dtype!r}; known are {', '.join(sorted(DTYPE_BYTES))}")
    if not _naturals(shape) or len(shape) > 8 or not _naturals(offsets) or len(offsets) != 2:
        raise refuse(f"{name} has a shape or offsets that are not whole numbers")
    length = DTYPE_BYTES[dtype]
    for dimension in shape:
        length *= dimension
    if offsets[1] - offsets[0] != length:
        raise refuse(f"{name} needs {length} bytes for {dtype} {shape}, its offsets are {offsets}")
    return Tensor(name, dtype, tuple(shape), offsets[0], offsets[1])


def _naturals(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 2**63 for v in values)


def read_weights(directory: str, where: str = "") -> Weights:
    """Every tensor of a flat model directory, after the checks of `read_header`.

    Holds afterwards: index, headers and files agree in both directions. Raises Broken.
    """
    present = sorted(name for name in os.listdir(directory) if name.endswith(".safetensors"))
    if not os.path.lexists(os.path.join(directory, INDEX)):
        if present != [SINGLE]:
            here = ", ".join(present) or "no safetensors file"
            rule = f"is missing: without it there must be {SINGLE} alone, there is {here}"
            raise Broken(where + INDEX, rule, SAVE_AGAIN)
        return Weights({SINGLE: read_header(os.path.join(directory, SINGLE), where + SINGLE)})
    placed = _read_index(os.path.join(directory, INDEX), where + INDEX)
    for name in sorted(set(placed.values()) - set(present)):
        rule = f"is missing: {INDEX} places tensors in it"
        raise Broken(where + name, rule, f"bring the file, or {SAVE_AGAIN}")
    for name in sorted(set(present) - set(placed.values())):
        rule = f"is not in {INDEX}: some engines would load it in place of the shards"
        raise Broken(where + name, rule, f"remove the file, or {SAVE_AGAIN}")
    files = {name: read_header(os.path.join(directory, name), where + name) for name in present}
    held = {(tensor.name, name) for name, tensors in files.items() for tensor in tensors}
    for tensor, name in sorted(held - set(placed.items())):
        rule = f"places {tensor} in {placed.get(tensor, 'no file')}, but {name} holds it"
        raise Broken(where + INDEX, rule, SAVE_AGAIN)
    for tensor, name in sorted(set(placed.items()) - held):
        raise Broken(where + INDEX, f"places {tensor} in {name}, which lacks it", SAVE_AGAIN)
    return Weights(files)


def _read_index(path: str, where: str) -> dict[str, str]:
    if os.path.getsize(path) > HEADER_LIMIT_BYTES:
        raise Broken(where, f"is larger than {HEADER_LIMIT_BYTES} bytes", SAVE_AGAIN)
    with open(path, "rb") as file:
        index = strict_json(file.read(), where)
    placed = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(placed, dict) or not placed or set(index) - {"metadata", "weight_map"}:
        raise Broken(where, "must hold a weight_map and at most metadata beside it", SAVE_AGAIN)
    for tensor, name in placed.items():
        plain = isinstance(name, str) and not set(name) & set("/\\\0")
        if not plain or not name.endswith(".safetensors"):
            rule = f"places {tensor} in {name!r}: only a file of the same directory may stand here"
            raise Broken(where, rule, SAVE_AGAIN)
    return placed


def hash_file(path: str, advance: Advance | None = None) -> str:
    """SHA-256 (hex) of a file, read in chunks; `advance` is told the bytes of each chunk."""
    return _hash_spans(path, [], advance)[0]


def hash_weights(directory: str, weights: Weights, advance: Advance | None = None) -> Hashes:
    """Hash every weights file and every tensor in one reading of the bytes."""
    files: dict[str, str] = {}
    tensors: dict[str, str] = {}
    for name, held in weights.files.items():
        files[name], found = _hash_spans(os.path.join(directory, name), held, advance)
        tensors.update(found)
    return Hashes(files, tensors)


def _hash_spans(
    path: str, tensors: list[Tensor], advance: Advance | None
) -> tuple[str, dict[str, str]]:
    whole = hashlib.sha256()
    found: dict[str, str] = {}

    def read(file: BinaryIO, length: int, *hashes: Any) -> int:
        done = 0
        while done < length:
            chunk = file.read(min(CHUNK_BYTES, length - done))
            if not chunk:
                break
            for digest in hashes:
                digest.update(chunk)
            done += len(chunk)
            if advance is not None:
                advance(len(chunk))
        return done

    size = os.path.getsize(path)
    with open(path, "rb") as file:
        done = read(file, size - (tensors[-1].end if tensors else 0), whole)
        for tensor in tensors:
            digest = hashlib.sha256()
            done += read(file, tensor.end - tensor.begin, whole, digest)
            found[tensor.name] = digest.hexdigest()
        if done != size or file.read(1):
            raise Broken(path, "changed while it was being read", "try again when nothing writes")
    return whole.hexdigest(), found


def weights_digest(weights: Weights, tensor_hashes: dict[str, str], *, tied: bool) -> str:
    """What the weights are, whatever files they lie in.

    Equal after re-sharding, different when one bit of a tensor differs. A tied output layer is
    left out, since some writers repeat the embedding there and others do not.
    """
    total = hashlib.sha256()
    for tensor in weights.tensors():
        if not (tied and tensor.name == "lm_head.weight"):
            shape = ",".join(str(dimension) for dimension in tensor.shape)
            fields = (tensor.name, tensor.dtype, shape, tensor_hashes[tensor.name])
            total.update("\0".join(fields).encode("utf-8") + b"\n")
    return "sha256:" + total.hexdigest()


def tree_digest(hashes: dict[str, str]) -> str:
    """The digest of a set of files, given as relative path -> SHA-256 (hex)."""
    return "sha256:" + hashlib.sha256(sums(hashes)).hexdigest()


def sums(hashes: dict[str, str]) -> bytes:
    """Lines as `sha256sum` writes and checks them, sorted by the bytes of the path."""
    ordered = sorted(hashes.items(), key=lambda item: item[0].encode("utf-8"))
    return "".join(f"{digest}  {path}\n" for path, digest in ordered).encode("utf-8")


def is_tied(directory: str, where: str = "") -> bool:
    """Whether config.json says that the output layer is the embedding. Raises Broken."""
    where += "config.json"
    try:
        with open(os.path.join(directory, "config.json"), "rb") as file:
            config = strict_json(file.read(), where)
    except FileNotFoundError as error:
        raise Broken(where, "is missing: it says how to read the weights", COPY_AGAIN) from error
    tied = config.get("tie_word_embeddings", False) if isinstance(config, dict) else None
    if not isinstance(tied, bool):
        raise Broken(where, "must be an object whose tie_word_embeddings is a bool", COPY_AGAIN)
    return tied


def list_files(root: str) -> dict[str, int]:
    """Relative path -> bytes of every file below `root`.

    Raises Broken for anything but directories and plain files; a link is not followed.
    """
    found: dict[str, int] = {}
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(os.path.join(root, prefix)) as entries:
            for entry in entries:
                path, status = prefix + entry.name, entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(path + "/")
                elif stat.S_ISREG(status.st_mode):
                    found[path] = status.st_size
                else:
                    link = stat.S_ISLNK(status.st_mode)
                    kind = "a symbolic link" if link else "neither a file nor a directory"
                    raise Broken(path, f"is {kind}", "put the file itself in its place")
    return found


def check_package(root: str, advance: Advance | None = None) -> dict[str, Any]:
    """Check a package completely; returns its name, version, digests and sizes. Raises Broken."""
    present = list_files(root)
    for name in ("manifest.json", "SHA256SUMS"):
        if name not in present:
            raise Broken(name, "is missing", COPY_AGAIN)
    manifest, manifest_hash = _read_manifest(os.path.join(root, "manifest.json"))
    expected = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    _compare_listing(root, present, manifest["files"], {**expected, "manifest.json": manifest_hash})
    model = os.path.join(root, "model")
    weights = read_weights(model, "model/")
    hashes = hash_weights(model, weights, advance)
    known = {"model/" + name: digest for name, digest in hashes.files.items()}
    for path, digest in sorted(expected.items()):
        found = known.get(path) or hash_file(os.path.join(root, path), advance)
        if found != digest:
            rule = f"has SHA-256 {found}, manifest.json says {digest}"
            raise Broken(path, rule, COPY_AGAIN)
    inside = {path[6:]: digest for path, digest in expected.items() if path.startswith("model/")}
    tied = is_tied(model, "model/")
    computed = {
        "weights_digest": weights_digest(weights, hashes.tensors, tied=tied),
        "model_digest": tree_digest(inside),
    }
    for key, value in computed.items():
        if manifest[key] != value:
            rule = f"says {key} {manifest[key]}, the files give {value}"
            raise Broken("manifest.json", rule, COPY_AGAIN)
    return {
        "name": manifest["name"],
        "version": manifest["version"],
        "package_digest": "sha256:" + manifest_hash,
        **computed,
        "files": len(present),
        "bytes": sum(present.values()),
        "tensors": len(hashes.tensors),
    }


def _compare_listing(
    root: str, present: dict[str, int], entries: list[dict[str, Any]], covered: dict[str, str]
) -> None:
    if "model/config.json" not in covered:
        raise Broken("model/config.json", "is not in manifest.json", COPY_AGAIN)
    for path in sorted(set(covered) - set(present)):
        raise Broken(path, "is missing: manifest.json lists it", COPY_AGAIN)
    for path in sorted(set(present) - set(covered) - {"SHA256SUMS"}):
        raise Broken(path, "is not in manifest.json", "remove it: a package holds nothing else")
    for entry in entries:
        path, size = entry["path"], entry["size"]
        if present[path] != size:
            raise Broken(path, f"has {present[path]} bytes, manifest.json says {size}", COPY_AGAIN)
    with open(os.path.join(root, "SHA256SUMS"), "rb") as file:
        if file.read() != sums(covered):
            raise Broken("SHA256SUMS", "does not say the same as manifest.json", COPY_AGAIN)


def _read_manifest(path: str) -> tuple[dict[str, Any], str]:
    def refuse(rule: str) -> Broken:
        return Broken("manifest.json", rule, COPY_AGAIN)

    with open(path, "rb") as file:
        raw = file.read(HEADER_LIMIT_BYTES)
    manifest = strict_json(raw, "manifest.json")
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise refuse(f"is not of schema {SCHEMA}, the one that this verifier reads")
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if (canonical + "\n").encode("utf-8") != raw:
        raise refuse("is not canonical JSON, so its digest is not the package's")
    for key in ("name", "version", "weights_digest", "model_digest"):
        if not isinstance(manifest.get(key), str):
            raise refuse(f"lacks {key}")
    kinds = {"path": str, "size": int, "sha256": str, "role": str}
    rows = manifest.get("files")
    for row in rows if isinstance(rows, list) else [None]:
        if not isinstance(row, dict) or {key: type(row[key]) for key in row} != kinds:
            raise refuse("must list its files, each with path, size, sha256 and role")
    if len({row["path"] for row in manifest["files"]}) != len(manifest["files"]):
        raise refuse("lists a file twice")
    return manifest, hashlib.sha256(raw).hexdigest()


def check_weights(directory: str, advance: Advance | None = None) -> dict[str, Any]:
    """The weights digest of a plain model directory, after the checks of `read_weights`."""
    weights = read_weights(directory)
    tied = is_tied(directory)
    hashes = hash_weights(directory, weights, advance)
    digest = weights_digest(weights, hashes.tensors, tied=tied)
    return {"weights_digest": digest, "tensors": len(hashes.tensors)}


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(
        description="Check a model package.", epilog="exit status: 0 as written, 5 not, 2 usage"
    )
    parser.add_argument("directory", nargs="?", default=here, help="default: where this file lies")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--expect", metavar="DIGEST", help="the digest (sha256:...) it must have")
    parser.add_argument("--weights-only", action="store_true", help="a plain model directory")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name need not be printable
    try:
        found = (check_weights if options.weights_only else check_package)(options.directory)
        given = found["weights_digest" if options.weights_only else "package_digest"]
        if options.expect not in (None, given):
            rule = f"has digest {given}, expected {options.expect}"
            raise Broken(options.directory, rule, "fetch the one that was meant")
    except (Broken, OSError) as error:
        broken = error
        if not isinstance(broken, Broken):
            broken = Broken(options.directory, str(error), "check the path and the rights on it")
        if options.json:
            told = {"where": broken.where, "rule": broken.rule, "fix": broken.fix}
            kind = {"kind": "VerificationFailed", "exit_code": EXIT_FAILED}
            print(json.dumps({"ok": False, "error": {**kind, **told}}, ensure_ascii=False))
        else:
            print(f"FAILED {broken}")
        return EXIT_FAILED
    if options.json:
        print(json.dumps({"ok": True, **found}, ensure_ascii=False))
    else:
        print("\n".join(f"{key:15} {value}" for key, value in found.items()) + "\nok")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
