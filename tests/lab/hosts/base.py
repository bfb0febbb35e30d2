"""The Debian root that every host starts from: made once, kept as a tarball, shared read-only."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.environments import cache_root
from tests.lab.hosts.commands import Progress, run
from tests.lab.hosts.requirements import require

# What a freshly installed server has, and no more: roles must bring what they need.
PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "openssh-server",
    "procps",
    "python3",
    "python3-apt",
    "sudo",
    "systemd",
    "systemd-sysv",
)
# A console to log in on, and timers that would reach for the network.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "e2scrub_all.timer",
    "getty.target",
    "systemd-networkd.service",
    "systemd-resolved.service",
)
APT = Path("/etc/apt")
UNUSED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")
# Raise it when `_make` changes: roots made before are then made again.
RECIPE = 1


@dataclass(frozen=True)
class Base:
    """Which root: a Debian suite and the packages beyond the essential ones."""

    suite: str = "bookworm"
    packages: tuple[str, ...] = PACKAGES

    @property
    def key(self) -> str:
        """Changes with all that the root is made from, except the state of the archive."""
        parts = json.dumps([RECIPE, asdict(self), MASKED, UNUSED]).encode()
        return hashlib.sha256(parts).hexdigest()[:16]

    @property
    def directory(self) -> Path:
        """Where it is kept."""
        return hosts_cache() / f"base-{self.key}"

    @property
    def root(self) -> Path:
        """The unpacked root; nothing may write to it while a host runs."""
        return self.directory / "root"

    @property
    def sources(self) -> Path:
        """The package sources it was made from: `sources.list` and `sources.list.d`."""
        return self.directory / "sources"


def ensure_base(base: Base) -> None:
    """Make the root, or unpack its tarball, unless `base.root` is there.

    Safe to call from several processes at once: one works, the others wait. Raises LabError when
    making it fails, and what `requirements.require` raises.
    """
    if base.root.is_dir():
        return
    require()
    tarball = base.directory / "root.tar.zst"
    with exclusive(base.directory.with_suffix(".lock")):
        if not tarball.is_file():
            _make(base, tarball)
        if not base.root.is_dir():
            partial = base.directory / "root.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            tar: list[str | Path] = [
                "tar",
                "--numeric-owner",
                "--xattrs",
                "-C",
                partial,
                "-xf",
                tarball,
            ]
            run(tar, where=f"{base.suite} root")
            partial.rename(base.root)


def hosts_cache() -> Path:
    """Where roots and package bundles are kept between runs."""
    directory = cache_root() / "hosts"
    directory.mkdir(exist_ok=True)
    return directory


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file `path`; waits until nobody else does."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _sources_of_this_machine(suite: str) -> list[Path]:
    """This machine's apt sources that hold Debian's `suite`; without any, Debian's own are used."""
    entry = re.compile(rf"^(deb|Suites:)\s(.*\s)?{suite}(\s|$)", re.MULTILINE)
    main = re.compile(r"\smain(\s|$)")
    found = [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]
    texts = {path: path.read_text() for path in found if path.is_file()}
    return [path for path, text in texts.items() if entry.search(text) and main.search(text)]


def _make(base: Base, tarball: Path) -> None:
    progress = Progress(f"{base.suite} root")
    progress.say(f"making it in {base.directory}, once; this takes one or two minutes")
    shutil.rmtree(base.directory, ignore_errors=True)
    (base.sources / "sources.list.d").mkdir(parents=True)
    partial = tarball.with_name(f"partial-{os.getpid()}.tar.zst")
    # Hosts have no route out: their root names no package source, and what it was made from is
    # kept beside it for the bundle of packages. Keys that say who a host is are made per host.
    hooks = [
        f'if [ -f "$1/etc/apt/sources.list" ]; then mv "$1/etc/apt/sources.list" {base.sources}/; '
        f'fi; mv "$1"/etc/apt/sources.list.d/* {base.sources}/sources.list.d/ 2>/dev/null || true',
        ': > "$1/etc/apt/sources.list"',
        'rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/hostname "$1"/etc/resolv.conf',
        *(f'ln -sf /dev/null "$1/etc/systemd/system/{unit}"' for unit in MASKED),
        'ln -sf /lib/systemd/system/multi-user.target "$1/etc/systemd/system/default.target"',
        # Empty, not "uninitialized": the first boot of a host is an ordinary one.
        ': > "$1/etc/machine-id"',
    ]
    command: list[str | Path] = [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        "--components=main",
    ]
    command += [f"--include={','.join(base.packages)}", "--dpkgopt=force-unsafe-io"]
    command += [f"--dpkgopt=path-exclude={pattern}" for pattern in UNUSED]
    command += [f"--customize-hook={hook}" for hook in hooks]
    command += [base.suite, partial, *_sources_of_this_machine(base.suite)]
    run(command, where=f"{base.suite} root", timeout_seconds=1200)
    os.replace(partial, tarball)
    progress.say(f"ready, {tarball.stat().st_size / 1e6:.0f} MB")
