"""Which labs exist on this machine and who answers for them; taking down those nobody does.

Every lab has a file under the cache. The test run that made the lab holds a lock on it, together
with the keeper (`tests.lab.hosts.keeper`); the kernel drops the lock when both are gone. A lab
whose file can be locked was left behind, unless it was made to outlive its maker.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.hosts import cgroups
from tests.lab.hosts.base import exclusive, hosts_cache
from tests.lab.hosts.commands import run
from tests.lab.hosts.network import NAMESPACES

CLAIM_SECONDS = 15.0
GRACE_SECONDS = 5.0
MARKER = "lab"
# Where nspawn keeps what it passes to a running system; it leaves empty folders behind.
NSPAWN_STATE = Path("/run/systemd/nspawn")


@dataclass(frozen=True)
class Record:
    """One lab: its unique name, the directory that it owns, and whether it outlives its maker."""

    name: str
    directory: Path
    kept: bool

    @property
    def path(self) -> Path:
        """The file that says that it exists."""
        return _labs() / f"{self.name}.json"


def claim(directory: Path, *, kept: bool) -> tuple[Record, int]:
    """Answer for the lab of `directory` from now on: its record, and a descriptor to hold open.

    A kept lab that is there already is taken over as it is; anything else that was left behind, in
    this directory or another, is taken down first. Raises LabError when another process answers for
    the lab of this directory, or the directory holds something else.
    """
    deadline = time.monotonic() + CLAIM_SECONDS
    while time.monotonic() < deadline:
        with exclusive(_labs() / ".lock"):
            records = list(existing())
            for record in records:
                if record.directory != directory and not record.kept:
                    remove(record)
            mine = next((record for record in records if record.directory == directory), None)
            if mine is None:
                return _new(directory, kept=kept)
            if mine.kept and (held := _lock(mine)) is not None:
                return mine, held
            if not mine.kept and remove(mine):
                return _new(directory, kept=kept)
        time.sleep(0.1)
    raise LabError(
        where=str(directory),
        rule="another process has a lab in this directory",
        fix="give this lab a directory of its own, or end that process",
    )


def existing() -> Iterator[Record]:
    """The labs of this machine, as far as this cache knows."""
    for path in sorted(_labs().glob("*.json")):
        fields = json.loads(path.read_text())
        yield Record(path.stem, Path(fields["directory"]), fields["kept"])


def remove(record: Record) -> bool:
    """Take a lab down unless somebody answers for it; returns whether it is gone."""
    held = _lock(record)
    if held is None:
        return False
    try:
        take_down(record)
    finally:
        os.close(held)
    return True


def take_down(record: Record) -> None:
    """End everything that belongs to a lab and remove its traces; the caller holds its lock.

    Raises LabError when a process survives being killed.
    """
    cgroups.end(record.name)
    namespaces = [NAMESPACES / record.name, *NAMESPACES.glob(f"{record.name}-*")]
    for namespace in namespaces:
        if namespace.exists():
            _end_processes(namespace.name)
            run(["ip", "netns", "delete", namespace.name], where=record.name)
    for left in NSPAWN_STATE.glob(f"*/{record.name}-*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    with suppress(FileNotFoundError):
        if (record.directory / MARKER).read_text() == record.name:
            shutil.rmtree(record.directory)
    record.path.unlink(missing_ok=True)


def _labs() -> Path:
    directory = hosts_cache() / "labs"
    directory.mkdir(exist_ok=True)
    return directory


def _new(directory: Path, *, kept: bool) -> tuple[Record, int]:
    marker = directory / MARKER
    if marker.is_file():
        # Its record is gone with a deleted cache.
        take_down(Record(marker.read_text(), directory, kept=False))
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise LabError(
            where=str(directory),
            rule="a lab owns its directory and removes it in the end, and this one is not empty",
            fix="name a new or empty directory",
        )
    record = Record(f"perimeter-{secrets.token_hex(3)}", directory, kept)
    marker.write_text(record.name)
    record.path.write_text(json.dumps({"directory": str(directory), "kept": kept}))
    held = _lock(record)
    assert held is not None, "nobody else knows the new name"
    return record, held


def _lock(record: Record) -> int | None:
    try:
        held = os.open(record.path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        return None
    return held


def _end_processes(namespace: str) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + GRACE_SECONDS
        while pids := _processes_in(namespace):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        else:
            return
    raise LabError(
        where=namespace,
        rule=f"processes in its network did not end when they were killed: {pids}",
        fix="see what they wait for: ps -o pid,stat,wchan,args -p PID",
    )


def _processes_in(namespace: str) -> list[int]:
    listed = run(["ip", "netns", "pids", namespace], where=namespace)
    return [pid for pid in map(int, listed.split()) if pid != os.getpid()]
