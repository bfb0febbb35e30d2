"""What is in the repository, or would be at the next commit, and what must not stand in it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

MAXIMUM_KIB = 2048
# Larger on purpose: the weights of the example models.
LARGE = re.compile(r"examples/analyst_model/weights/\w+/[\w.-]+\.safetensors")
MAXIMUM_WEIGHTS_MIB = 16
MAXIMUM_LINES = 400
# Ships inside every package as one file that needs nothing but a Python.
LONG = {"model_packaging/package/verify.py"}

# Written in parts, so that this file does not name them.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("download", "pytorch", "org"),
    )
)
# Folders of every machine, which documents name on purpose.
EVERYWHERE = {"/", *(f"/{name}" for name in ("home", "mnt", "opt", "srv", "tmp", "usr", "var"))}
# Home folders of people: no document or default of this project needs one.
HOMES = re.compile(r"(?<![\w.-])/(?:root|home/[a-z][\w-]*|Users/[A-Za-z][\w-]*)/")


def tracked_files(root: Path) -> list[str]:
    """Tracked and not ignored files, relative to `root`; without git, all files."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode or not (root / ".git").exists():
        hidden = {".venv", ".perimeter", "node_modules", "__pycache__"}
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        found = [
            str(path)
            for path in paths
            if not hidden & set(path.parts) and not re.search(r"\.\w+_cache|\.hyp", str(path))
        ]
    else:
        found = [name for name in done.stdout.split("\0") if (root / name).is_file()]
    return sorted(found)


def machine_paths(root: Path) -> list[str]:
    """Folders of the machine that runs this, which nothing in the repository may name."""
    folders = [str(root.parent), str(Path.home())]
    for variable in ("PIP_FIND_LINKS", "ENGINE_WHEELS", "PERIMETER_CACHE"):
        folders += [word for word in os.environ.get(variable, "").split() if word.startswith("/")]
    return sorted(set(folders) - EVERYWHERE)


def problems(root: Path) -> Iterator[str]:
    """What must not be in the repository, one line each, naming file and rule."""
    local = [
        re.compile(r"(?<![\w.-])" + re.escape(folder) + r"(?![\w-])")
        for folder in machine_paths(root)
    ]
    for name in tracked_files(root):
        data = (root / name).read_bytes()
        if len(data) > MAXIMUM_KIB * 1024 and not LARGE.fullmatch(name):
            yield f"{name}: {len(data) // 1024} KiB, and {MAXIMUM_KIB} KiB is the limit"
        if b"\0" in data:
            continue
        text = data.decode("utf-8", errors="replace")
        lines = text.splitlines()
        if name.endswith(".py") and len(lines) > MAXIMUM_LINES and name not in LONG:
            yield f"{name}: {len(lines)} lines; is it one thing? ({MAXIMUM_LINES} at most)"
        for number, line in enumerate(lines, start=1):
            if any(host in line for host in REGISTRY_HOSTS):
                yield f"{name}:{number}: names the host of a registry; mirrors must work too"
            if HOMES.search(line) or any(pattern.search(line) for pattern in local):
                yield f"{name}:{number}: names a folder of somebody's machine"
