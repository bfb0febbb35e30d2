"""Archives that a controller carries to hosts: made once per content, named by it.

python -m model_packaging.hosts.archive wheels LOCK FOLDER OUT   the wheels that LOCK pins by hash
python -m model_packaging.hosts.archive code FOLDER OUT          Python files of a package

Each prints `{"key": ..., "path": ...}`. The same content gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path

from model_packaging.errors import PerimeterError, VerificationFailed

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_KEY_LENGTH = 16
USAGE = 2


def wheel_archive(lock: Path, folder: Path, out: Path) -> tuple[str, Path]:
    """The archive of every wheel in `folder`, by the digest of `lock`; returns key and path.

    Raises `VerificationFailed` for a wheel that the lock does not pin, or without any wheel. What
    is missing is found on the host, where pip checks every hash again.
    """
    text = lock.read_bytes()
    key = hashlib.sha256(text).hexdigest()[:_KEY_LENGTH]
    target = out / f"wheels-{key}.tar"
    if target.is_file():
        return key, target
    pinned = set(_HASH.findall(text.decode()))
    wheels = sorted(folder.glob("*.whl"))
    if not wheels:
        raise VerificationFailed(
            where=str(folder), rule="holds no wheel", fix=f"download what {lock} pins into it"
        )
    for wheel in wheels:
        with wheel.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found not in pinned:
            raise VerificationFailed(
                where=str(wheel),
                rule=f"has SHA-256 {found}, which {lock} does not pin",
                fix="remove it, or download it again",
            )
    _write(target, ((wheel.name, wheel.read_bytes()) for wheel in wheels))
    return key, target


def code_archive(folder: Path, out: Path) -> tuple[str, Path]:
    """The archive of the Python files below `folder`, by their content; returns key and path."""
    files = {
        str(Path(folder.name) / path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*.py"))
    }
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{hashlib.sha256(content).hexdigest()}  {name}\n".encode())
    key = digest.hexdigest()[:_KEY_LENGTH]
    target = out / f"code-{key}.tar"
    if not target.is_file():
        _write(target, files.items())
    return key, target


def _write(target: Path, files: Iterable[tuple[str, bytes]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # Not compressed: wheels are, and code is small.
        with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as archive:
            for name, content in files:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """Run the command line described at the top of this file."""
    try:
        match arguments:
            case ["wheels", lock, folder, out]:
                key, path = wheel_archive(Path(lock), Path(folder), Path(out))
            case ["code", folder, out]:
                key, path = code_archive(Path(folder), Path(out))
            case _:
                print(__doc__, file=sys.stderr)
                return USAGE
    except PerimeterError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps({"key": key, "path": str(path.absolute())}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
