"""Look at a host before anything is changed there; needs nothing but its Python.

    check_host.py JSON

JSON says what is wanted. Prints `{"fresh": ...}` and exits 0, or prints every problem, with its
fix, and exits 1. No file's content is read.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

SYSTEMS = {"debian": "12", "ubuntu": "24.04"}
MACHINES = ("x86_64", "aarch64")
OLDEST_PYTHON = (3, 11)
OURS = ("perimeter-", "haproxy")


def main(wanted: dict[str, Any]) -> list[str]:
    """Return what is wrong, one sentence each."""
    problems = list(system()) + list(clock(wanted["clock"], wanted["clock_tolerance_seconds"]))
    for folder in ("/opt", "/var/lib"):
        free = shutil.disk_usage(folder).free
        if free < wanted["free_bytes"]:
            have, need = free / 2**30, wanted["free_bytes"] / 2**30
            problems.append(f"{folder}: {have:.1f} GiB are free, {need:.0f} are needed; make room")
    problems += ports({int(port) for port in wanted["ports"]})
    for path in wanted["private_files"]:
        problems += secret(path, private=True)
    for path in wanted["public_files"]:
        problems += secret(path, private=False)
    return problems


def system() -> Iterator[str]:
    """Distribution, processor, Python, and the service manager."""
    with open("/etc/os-release", encoding="utf-8") as file:
        found = dict(re.findall(r'^(ID|VERSION_ID)="?([^"\n]*)"?$', file.read(), re.MULTILINE))
    name, version = found.get("ID", "?"), found.get("VERSION_ID", "0")
    if name not in SYSTEMS or numbers(version) < numbers(SYSTEMS[name]):
        known = " or ".join(f"{key} {value}" for key, value in SYSTEMS.items())
        yield f"system: is {name} {version}; install {known} or newer"
    if platform.machine() not in MACHINES:
        yield f"processor: is {platform.machine()}; use one of {', '.join(MACHINES)}"
    if tuple(sys.version_info[:2]) < OLDEST_PYTHON:
        yield f"python: is {platform.python_version()}; the gateway and the engine need 3.11"
    if not os.path.isdir("/run/systemd/system"):
        yield "systemd: is not running; services need it"
    if os.geteuid() != 0:
        yield "user: is not root; connect as root or with `become`"


def numbers(version: str) -> list[int]:
    """A version as numbers to compare."""
    return [int(part) for part in re.findall(r"\d+", version)]


def clock(controller: float, tolerance: float) -> Iterator[str]:
    """A clock that is wrong makes certificates invalid and logs useless."""
    # The time it took to get here counts against the host, which is on the safe side.
    difference = abs(time.time() - controller)
    if difference > tolerance:
        yield f"clock: {difference:.0f} s from the controller's, {tolerance} allowed; set it"


def ports(wanted: set[int]) -> Iterator[str]:
    """What listens where our services will; our own may."""
    listing = subprocess.run(
        ["ss", "-H", "-l", "-t", "-n", "-p"], capture_output=True, text=True, check=True
    )
    for line in listing.stdout.splitlines():
        port = int(line.split()[3].rpartition(":")[2])
        processes = re.findall(r'"([^"]+)",pid=(\d+)', line)
        if port in wanted and not any(is_ours(pid) for _, pid in processes):
            name = processes[0][0] if processes else "something"
            yield f"port {port}: {name} listens there; stop it or choose another port"


def is_ours(pid: str) -> bool:
    """Whether a process belongs to one of our services."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
            group = file.read()
    except OSError:
        return False
    return any(mark in group for mark in OURS)


def secret(path: str, *, private: bool) -> Iterator[str]:
    """A key or certificate that the services will read."""
    if not path.startswith("/"):
        yield f"{path}: is not an absolute path on the host; write `file:/...` in the deployment"
        return
    try:
        found = os.stat(path)
    except OSError as error:
        yield f"{path}: {error.strerror}; put it there, owned by root"
        return
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        yield f"{path}: is not a file with something in it; put it there again"
    elif private and (found.st_uid != 0 or found.st_mode & 0o077):
        yield f"{path}: others than root may read it; chown root and chmod 0400"


if __name__ == "__main__":
    if found := main(json.loads(sys.argv[1])):
        sys.exit("\n".join(found))
    print(json.dumps({"fresh": not os.path.isdir("/etc/perimeter/services")}))
