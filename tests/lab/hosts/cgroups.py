"""The control group that holds every process of a lab, so that one write ends them all."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.lab.errors import LabError

MOUNTS = Path("/proc/self/mountinfo")
TIDY_SECONDS = 5.0
END_SECONDS = 10.0


@cache
def mounts(kind: str) -> tuple[tuple[Path, str], ...]:
    """Mount points of a file system type, each with its super options."""
    found = []
    for line in MOUNTS.read_text().splitlines():
        left, _, right = line.partition(" - ")
        filesystem, _, options = right.split(" ", 2)
        if filesystem == kind:
            found.append((Path(left.split()[4]), options))
    return tuple(found)


def unified_root() -> Path | None:
    """Where cgroup2 is mounted, on its own or beside the older hierarchies."""
    return next((path for path, _ in mounts("cgroup2")), None)


def directories(name: str) -> list[Path]:
    """Every directory that is the group `name`, in any hierarchy.

    nspawn also makes one in systemd's older hierarchy, where the machine has that.
    """
    roots = [path for path, _ in mounts("cgroup2")]
    roots += [path for path, options in mounts("cgroup") if "name=systemd" in options.split(",")]
    return [root / name for root in roots if (root / name).is_dir()]


def create(name: str) -> Path:
    """The directory of group `name` (slashes nest), made when missing."""
    root = unified_root()
    assert root is not None, "requirements.require() comes first"
    (root / name).mkdir(parents=True, exist_ok=True)
    return root / name


def populated(name: str) -> bool:
    """Whether any process is in the group or below it."""
    root = unified_root()
    if root is None:
        return False
    try:
        return "populated 1" in (root / name / "cgroup.events").read_text()
    except FileNotFoundError:
        return False


def end(name: str) -> None:
    """Kill every process of the group and remove it; nothing happens when there is none.

    Raises LabError when the group is not empty after END_SECONDS.
    """
    root = unified_root()
    if root is not None and (root / name).is_dir():
        # First the booted systems alone: nspawn then tidies up after them and ends by itself.
        for payload in (root / name).glob("*/payload"):
            (payload / "cgroup.kill").write_text("1")
        _wait_empty(name, seconds=TIDY_SECONDS)
        (root / name / "cgroup.kill").write_text("1")
        if not _wait_empty(name, seconds=END_SECONDS):
            raise LabError(
                where=name,
                rule=f"its processes did not end within {END_SECONDS:.0f} s of being killed",
                fix=f"see which are left: systemd-cgls {root / name}",
            )
    for directory in directories(name):
        for child, _, _ in os.walk(directory, topdown=False):
            with suppress(FileNotFoundError):
                os.rmdir(child)


def _wait_empty(name: str, *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while populated(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
