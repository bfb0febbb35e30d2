"""Make .venv what the lock says; every make target calls it, and mostly it has nothing to do.

    python3 requirements/install.py

A fresh machine needs only a Python: its own venv and pip bring uv, pinned by hash, and uv installs
the rest, each package pinned by hash; the project itself comes last, editable.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = str(VENV / "bin" / "python")
STAMP = VENV / ".complete"
INPUTS = ("pyproject.toml", "requirements/bootstrap.txt", "requirements/dev.txt")


def base_key() -> str:
    """What the empty environment depends on: this interpreter, and where the checkout is."""
    return hashlib.sha256(f"{sys.version} {ROOT}".encode()).hexdigest()


def packages_key() -> str:
    """What is installed into it depends on."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def run(what: str, command: Sequence[str]) -> None:
    """Run one step and print its time; ends the program with the step's output when it fails."""
    started = time.monotonic()
    print(f"setup: {what} ...", end=" ", flush=True)
    # A virtual environment that happens to be active must not be the one that changes.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(f"{time.monotonic() - started:.1f} s", flush=True)
    if done.returncode:
        sys.exit(f"setup: {what} failed, saying:\n{done.stdout.strip()}")


def create() -> None:
    """Make .venv anew, with uv in it and nothing else."""
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(
            "setup: this Python comes without ensurepip, so it cannot make an environment\n"
            "  fix: install it (on Debian the package python3-venv)"
        )
    run("creating .venv", [sys.executable, "-m", "venv", "--clear", str(VENV)])
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run("installing uv", [*pip, "--require-hashes", "-r", "requirements/bootstrap.txt"])


def main() -> None:
    """Bring .venv up to date with the lock, or end with a message that says what to do."""
    base, packages = base_key(), packages_key()
    stamp = STAMP.read_text().split() if STAMP.is_file() else []
    if stamp == [base, packages]:
        return
    started = time.monotonic()
    if stamp[:1] != [base]:
        create()
    # Written before and after: a run that is cut off in between starts here again.
    STAMP.write_text(f"{base}\n")
    uv = [PYTHON, "-m", "uv", "--no-progress", "pip"]
    sync = ["sync", "--require-hashes", "--compile-bytecode", "requirements/dev.txt"]
    run("installing the locked packages", [*uv, *sync, "--python", PYTHON])
    install = ["install", "--no-deps", "--no-build-isolation", "--editable", "."]
    run("installing the project", [*uv, *install, "--python", PYTHON])
    STAMP.write_text(f"{base}\n{packages}\n")
    print(f"setup: ready in {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
