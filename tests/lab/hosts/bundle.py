"""Debian packages that hosts install without a network, resolved against their root.

A bundle is a folder of `.deb` files with their index. On a host that has it in `/opt/bundle`, one
apt source is enough: `deb [trusted=yes] file:/opt/bundle ./`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.lab.hosts.base import Base, ensure_base, exclusive, hosts_cache
from tests.lab.hosts.commands import Progress, run

WHERE = "package bundle"
# Raise it when `_make` changes: bundles made before are then made again.
RECIPE = 1


def ensure_bundle(base: Base, packages: Sequence[str]) -> Path:
    """A folder with `packages`, all that they need beyond `base`, and a `Packages` index.

    Recommended packages are left out. Shared between runs, and never refreshed: delete the folder
    to have newer versions. Raises LabError when the archive lacks a package or cannot be reached.
    """
    wanted = sorted(set(packages))
    key = hashlib.sha256(json.dumps([RECIPE, base.key, wanted]).encode()).hexdigest()[:16]
    directory = hosts_cache() / f"bundle-{key}"
    if not directory.is_dir():
        ensure_base(base)
        with exclusive(directory.with_suffix(".lock")):
            if not directory.is_dir():
                _make(base, wanted, directory)
    return directory


def _make(base: Base, packages: list[str], directory: Path) -> None:
    progress = Progress(WHERE)
    progress.say(f"downloading {', '.join(packages)} and what they need into {directory}, once")
    work = directory.with_suffix(".partial")
    shutil.rmtree(work, ignore_errors=True)
    debs = work / "archives"
    for folder in (debs / "partial", work / "lists/partial"):
        folder.mkdir(parents=True)
    apt = _apt(base, work)
    run([*apt, "update"], where=WHERE)
    run([*apt, "install", "--download-only", "--no-install-recommends", *packages], where=WHERE)
    shutil.rmtree(debs / "partial")
    (debs / "lock").unlink(missing_ok=True)
    for file in debs.glob("*.deb"):
        # apt escapes the colon of an epoch in a name that it would then unescape to read.
        file.rename(file.with_name(re.sub(r"_\d+%3a", "_", file.name)))
    files = sorted(debs.glob("*.deb"))
    (debs / "Packages").write_text("\n".join(_index_entry(file) for file in files))
    debs.rename(directory)
    shutil.rmtree(work)
    size = sum(file.stat().st_size for file in directory.iterdir())
    progress.say(f"ready, {len(files)} packages, {size / 1e6:.0f} MB")


def _apt(base: Base, work: Path) -> list[str]:
    """This machine's apt, which knows how to reach archives, looking at a host's packages."""
    options = {
        "Dir::State::status": base.root / "var/lib/dpkg/status",
        "Dir::State::extended_states": work / "extended_states",
        "Dir::State::lists": work / "lists",
        "Dir::Cache": work,
        "Dir::Cache::archives": work / "archives",
        "Dir::Etc::sourcelist": base.sources / "sources.list",
        "Dir::Etc::sourceparts": base.sources / "sources.list.d",
        "Dir::Etc::trustedparts": base.root / "etc/apt/trusted.gpg.d",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        # The folders are root's alone.
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
    }
    command = ["apt-get", "-q", "-y"]
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    return command


def _index_entry(file: Path) -> str:
    control = run(["dpkg-deb", "--field", file], where=WHERE).strip()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return f"{control}\nFilename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n"
