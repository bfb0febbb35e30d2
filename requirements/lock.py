"""Write the lock files beside this one, or check offline that they fit what they were made from.

    python requirements/lock.py             write every lock (`make lock`)
    python requirements/lock.py --upgrade   the same, and move the pins (`make lock UPGRADE=1`)
    python requirements/lock.py --check     exit 1 and say why when a lock is stale or lacks a hash

    pyproject.toml  -> dev.txt            the core and every extra, for every platform
    dev.txt         -> bootstrap.txt      uv alone: what `make` hands to pip before anything else
    gateway.in      -> gateway.txt        the request path on a host, Linux, Python 3.11 or newer
    engine.in       -> engine.txt         vLLM on the CPU, Linux x86-64, Python 3.11, not resolved
    training.in     -> training.txt       MLflow, torch, transformers, for the same platform
    package.json    -> package-lock.json  the cdk command

A lock names versions and hashes and nothing else: no address, so that it works against any mirror.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LINUX_311 = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
COMPILE = {
    "dev": ("pyproject.toml", "--all-extras", "--universal", "--python-version", "3.11"),
    "gateway": ("requirements/gateway.in", "--universal", "--python-version", "3.11"),
    "engine": ("requirements/engine.in", "--no-deps", *LINUX_311),
    "training": ("requirements/training.in", *LINUX_311),
}
LOCKS = ("bootstrap", *COMPILE)
INPUTS_LINE = "# made from: sha256:"
ADDRESS = re.compile(r"://|^(-i|-f|--(extra-)?index-url|--find-links)\b", re.MULTILINE)
# Signs that torch was resolved freely: gigabytes of GPU wheels, builds that break beside a CPU one.
GPU_TORCH = re.compile(r"nvidia-|cuda-|triton|torch(audio|codec|vision)|torch==(?!\S*\+cpu)")


class LockError(Exception):
    """A lock could not be written; the message names the lock and the next step."""


def inputs_digest(root: Path, name: str) -> str:
    """SHA-256 over what lock `name` is made from; comments and the order of extras do not count."""
    if name in {"bootstrap", "dev"}:
        project = tomllib.loads((root / "pyproject.toml").read_text())
        wanted: object = [
            project["build-system"]["requires"],
            project["project"]["requires-python"],
            project["project"]["dependencies"],
            project["project"]["optional-dependencies"],
        ]
    else:
        lines = (root / "requirements" / f"{name}.in").read_text().splitlines()
        wanted = [line for line in lines if line and not line.startswith("#")]
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()


def pins(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each requirement of a lock with its hashes (perhaps none), in file order."""
    for block in re.sub(r"\\\n\s*", " ", text).splitlines():
        if block and not block.startswith("#"):
            requirement, *hashes = block.split(" --hash=")
            yield requirement.strip(), [value.strip() for value in hashes]


def render(root: Path, name: str, entries: Iterable[tuple[str, list[str]]]) -> str:
    """The text of lock `name`: a header that ties it to its inputs, then the requirements."""
    header = "# Written by `make lock`; change its input instead.\n"
    header += f"{INPUTS_LINE}{inputs_digest(root, name)}\n"
    blocks = (" \\\n    --hash=".join([requirement, *hashes]) for requirement, hashes in entries)
    return header + "".join(f"{block}\n" for block in blocks)


def local_wheel_hash(requirement: str) -> str:
    """`sha256:<hex>` of the one local wheel of `requirement` (`name==version`).

    Wheels outside the index come from a folder (ENGINE_WHEELS, else PIP_FIND_LINKS), and for those
    uv writes no hash. Raises LockError when no such wheel is there.
    """
    name, version = requirement.split("==")
    folders = (os.environ.get("ENGINE_WHEELS") or os.environ.get("PIP_FIND_LINKS") or "").split()
    found = [wheel for folder in folders for wheel in Path(folder).glob(f"{name}-{version}-*.whl")]
    if not found:
        raise LockError(
            f"{requirement}: no hash is known, since it is not on the package index\n"
            "  fix: ENGINE_WHEELS=DIR make lock, with the folder that holds its wheel"
        )
    with found[0].open("rb") as wheel:
        return "sha256:" + hashlib.file_digest(wheel, "sha256").hexdigest()


def compile_lock(root: Path, name: str, *, upgrade: bool) -> str:
    """Resolve lock `name` with uv; pins that still fit are kept, unless `upgrade`."""
    source, *options = COMPILE[name]
    target = f"requirements/{name}.txt"
    wheels = os.environ.get("ENGINE_WHEELS") or os.environ.get("PIP_FIND_LINKS") or ""
    command = [sys.executable, "-m", "uv", "pip", "compile", source, "--output-file", target]
    command += ["--quiet", "--generate-hashes", "--no-header", "--no-annotate", *options]
    command += [option for wheel in wheels.split() for option in ("--find-links", wheel)]
    if upgrade:
        command.append("--upgrade")
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LockError(f"{target}: uv found no set of versions\n{done.stderr.strip()}")
    found = pins((root / target).read_text())
    return render(root, name, [(pin, hashes or [local_wheel_hash(pin)]) for pin, hashes in found])


def write_locks(root: Path, *, upgrade: bool) -> None:
    """Write every lock in place; raises LockError at the first that cannot be made."""
    for name in COMPILE:
        text = compile_lock(root, name, upgrade=upgrade)
        (root / "requirements" / f"{name}.txt").write_text(text)
        print(f"lock: requirements/{name}.txt, {sum(1 for _ in pins(text))} requirements")
    resolved = pins((root / "requirements" / "dev.txt").read_text())
    uv = [(pin, hashes) for pin, hashes in resolved if pin.startswith("uv==")]
    (root / "requirements" / "bootstrap.txt").write_text(render(root, "bootstrap", uv))
    npm = shutil.which("npm")
    if npm is None:
        print("lock: package-lock.json left as it is: npm is not installed here")
        return
    # .npmrc leaves the addresses out of the file.
    subprocess.run(
        [npm, "install", "--package-lock-only", "--ignore-scripts"], cwd=root, check=True
    )


def python_problems(root: Path) -> Iterator[str]:
    """What is wrong with the Python locks under `root`, as sentences with their fix."""
    for name in LOCKS:
        text = _read(root, name)
        problems = _lock_problems(root, name, text) if text else ["is missing"]
        yield from (f"requirements/{name}.txt: {problem}; fix: make lock" for problem in problems)
    uv = [[pin for pin in pins(_read(root, name)) if pin[0].startswith("uv==")] for name in LOCKS]
    if uv[0] != uv[1]:
        yield "requirements/bootstrap.txt: pins another uv than dev.txt; fix: make lock"


def _lock_problems(root: Path, name: str, text: str) -> Iterator[str]:
    if f"{INPUTS_LINE}{inputs_digest(root, name)}\n" not in text:
        yield "its input has changed since it was written"
    if ADDRESS.search(text):
        yield "it names an address"
    for requirement, hashes in pins(text):
        if not hashes or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes):
            yield f"{requirement} has no hash"
        if GPU_TORCH.match(requirement):
            yield f"{requirement} belongs to a GPU torch, where torch==X+cpu must be pinned"


def node_problems(root: Path) -> Iterator[str]:
    """What is wrong with package-lock.json under `root`, as sentences with their fix."""
    wanted = json.loads(_read(root, "package.json") or "{}")
    lock = json.loads(_read(root, "package-lock.json") or "{}")
    packages: dict[str, dict[str, object]] = lock.get("packages", {})
    if packages.get("", {}).get("devDependencies") != wanted.get("devDependencies"):
        yield "package-lock.json: does not fit package.json; fix: make lock"
    for name, package in packages.items():
        if name and "integrity" not in package:
            yield f"package-lock.json: {name} has no integrity hash; fix: make lock"
        if "resolved" in package:
            yield f"package-lock.json: {name} names an address; fix: make lock, beside .npmrc"
    for name, version in wanted.get("devDependencies", {}).items():
        if not re.fullmatch(r"\d+\.\d+\.\d+", version):
            yield f"package.json: {name} {version} is not one version; fix: write it exactly"


def _read(root: Path, name: str) -> str:
    path = root / (name if name.endswith(".json") else f"requirements/{name}.txt")
    return path.read_text() if path.is_file() else ""


def main() -> int:
    """Run the command line described at the top of this file."""
    parser = argparse.ArgumentParser(description="Write or check the lock files.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a lock is stale"
    )
    parser.add_argument(
        "--upgrade", action="store_true", help="move every pin to its newest version"
    )
    parser.add_argument(
        "--root", type=Path, default=HERE.parent, help="the checkout (default: this one)"
    )
    options = parser.parse_args()
    if options.check:
        problems = [*python_problems(options.root), *node_problems(options.root)]
        print("\n".join(problems) or "lock: every lock fits its input and pins every hash")
        return 1 if problems else 0
    try:
        write_locks(options.root, upgrade=options.upgrade)
    except LockError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
