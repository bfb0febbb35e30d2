"""Which file names may come in, and which kinds of file never do.

Names come from a registry that many people write to, so they are judged before anything is
downloaded under them, and again when the files are on disk.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from model_packaging.errors import PackageRefused

_PICKLES = frozenset(
    {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz", ".dill"}
)
_CODE = frozenset({".py", ".pyc", ".pyx", ".so", ".dll", ".dylib", ".sh", ".exe", ".whl", ".jar"})
_OTHER_WEIGHTS = frozenset({".gguf", ".ggml", ".onnx", ".h5", ".keras", ".msgpack", ".tflite"})
_SAVE = "log the model again with safetensors weights alone (save_pretrained writes them)"


def check_names(paths: Iterable[str]) -> None:
    """Refuse paths that could leave their folder, hide one another or run when loaded.

    Paths are relative, with forward slashes. Raises PackageRefused for the first bad one.
    """
    every = sorted(paths)
    check_paths(every)
    check_kinds(every)


def check_paths(paths: Iterable[str]) -> None:
    """Refuse paths that are not safe to write, or that some file systems take for one another.

    Raises PackageRefused.
    """
    spellings: dict[str, str] = {}
    folders: set[str] = set()
    every = sorted(paths)
    for path in every:
        _check_path(path)
        parts = path.split("/")
        prefixes = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
        folders.update(prefixes[:-1])
        for prefix in prefixes:
            # How the file systems that fold case and accents would compare them.
            folded = unicodedata.normalize("NFC", prefix).casefold()
            other = spellings.setdefault(folded, prefix)
            if other != prefix:
                rule = f"differs from {other} by case or accents only, so one hides the other"
                fix = "rename one of them and log the model again"
                raise PackageRefused(where=path, rule=rule, fix=fix)
    for path in every:
        if path in folders:
            rule, fix = "is both a file and a folder", "log the model again into a new place"
            raise PackageRefused(where=path, rule=rule, fix=fix)


def check_kinds(paths: Iterable[str]) -> None:
    """Refuse files that run when loaded, or hold weights that cannot be checked.

    Raises PackageRefused.
    """
    for path in sorted(paths):
        _check_kind(path)


def _check_path(path: str) -> None:
    parts = path.split("/")
    rule = None
    if path.startswith("/") or path[1:2] == ":" or "\\" in path:
        rule = "is not a relative path with forward slashes"
    elif {"", ".", ".."} & set(parts):
        rule = "leaves its folder or is not written plainly"
    elif any(unicodedata.category(letter) in {"Cc", "Cf", "Cs"} for letter in path):
        rule = "holds control characters"
    elif any(len(part.encode("utf-8")) > 255 for part in parts) or len(path) > 1024:
        rule = "is too long for a file system or an object key"
    if rule is not None:
        where = path.encode("unicode_escape").decode()
        raise PackageRefused(where=where, rule=rule, fix="log the model again under plain names")


def _check_kind(path: str) -> None:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _PICKLES:
        rule = "may be a pickle, and loading a pickle runs whatever it says"
        raise PackageRefused(where=path, rule=rule, fix=f"{_SAVE}, and without this file")
    if suffix in _CODE:
        rule = "is code; a package holds none, and no engine is started with code from a model"
        raise PackageRefused(where=path, rule=rule, fix="log the model without custom code")
    if suffix in _OTHER_WEIGHTS:
        rule = "holds weights in a format that cannot be checked tensor by tensor"
        raise PackageRefused(where=path, rule=rule, fix=_SAVE)
