"""What a machine must have before it can boot hosts, and the Debian packages that give it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from tests.lab.errors import EnvironmentUnavailable, LabError
from tests.lab.hosts.cgroups import unified_root
from tests.lab.hosts.commands import Progress, run

WHERE = "hosts"
# Command -> the Debian package that holds it.
COMMANDS = {
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "nc": "netcat-openbsd",
    "nft": "nftables",
    "ssh": "openssh-client",
    "systemd-nspawn": "systemd-container",
    "zstd": "zstd",
}
# Debian's signatures; a Debian has them, another apt-based system may not.
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def require() -> None:
    """Return when this machine can boot hosts, after installing what is missing.

    What will be installed is said on standard error first. Raises EnvironmentUnavailable when the
    machine cannot boot hosts at all, LabError when installing fails.
    """
    _require_machine()
    missing = [package for command, package in COMMANDS.items() if not shutil.which(command)]
    if not KEYRING.is_file():
        missing.append("debian-archive-keyring")
    if missing:
        _install(sorted(missing))
    _require_namespaces()
    _require_cgroup2()


def _require_machine() -> None:
    if platform.system() != "Linux":
        raise EnvironmentUnavailable(
            where=WHERE,
            rule=f"hosts are booted in Linux namespaces, and this is {platform.system()}",
            fix="run these tests on Linux as root; the others run here",
        )
    if os.geteuid() != 0:
        raise EnvironmentUnavailable(
            where=WHERE,
            rule=f"mounting roots and making network namespaces needs root, and this is user "
            f"{os.geteuid()}",
            fix="run these tests as root; the others run as any user",
        )


def _install(packages: list[str]) -> None:
    if not shutil.which("apt-get"):
        raise EnvironmentUnavailable(
            where=WHERE,
            rule=f"these tools are missing, and there is no apt-get to install them with: "
            f"{', '.join(packages)} (names of the Debian packages)",
            fix="install them by the means of this system",
        )
    progress = Progress(WHERE)
    progress.say(f"installing Debian packages on this machine: {', '.join(packages)}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run(["apt-get", "update", "-q"], where=WHERE, env=quiet)
        install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
        run(install, where=WHERE, env=quiet)
    except LabError as error:
        raise LabError(
            where=WHERE,
            rule=f"installing {', '.join(packages)} failed",
            fix=f"install them by hand; {error}",
        ) from None
    progress.say("installed")


def _require_namespaces() -> None:
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "true"], capture_output=True, text=True, check=False
    )
    if probe.returncode:
        raise EnvironmentUnavailable(
            where=WHERE,
            rule=f"root may not make namespaces here: {probe.stderr.strip()}",
            fix="run these tests on a machine of their own, or in a privileged container",
        )


def _require_cgroup2() -> None:
    root = unified_root()
    if root is None or not os.access(root, os.W_OK):
        raise EnvironmentUnavailable(
            where=WHERE,
            rule="there is no writable cgroup2 file system, which ends all processes of a host",
            fix="mount it: mkdir -p /sys/fs/cgroup/unified && "
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified",
        )
