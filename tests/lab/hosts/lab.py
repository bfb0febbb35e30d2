"""Real Debian hosts for tests: systemd boots, SSH answers, and no route leads out.

    with Lab(2, tmp_path / "lab") as lab:
        lab.hosts["gpu1"].run(["systemctl", "is-system-running"])

`requirements` says what the machine must have and installs it; `base` makes the root that hosts
start from, `bundle` the Debian packages that they can install without a network; `network` is the
bridge and its packet counters; `access` is SSH; `host` boots one host, this module all of them;
`ansible` tells Ansible how to reach them; `records` and `keeper` leave nothing behind. By hand:
`python -m tests.lab.hosts`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from tests.lab.environments import cache_root
from tests.lab.errors import LabError
from tests.lab.hosts.access import LONGEST_DIRECTORY, Access
from tests.lab.hosts.base import Base, ensure_base
from tests.lab.hosts.host import Host
from tests.lab.hosts.network import CONTROLLER, Network, PacketCounter
from tests.lab.hosts.records import Record, claim, take_down
from tests.lab.hosts.requirements import require
from tests.lab.processes import ManagedProcess

REPOSITORY = Path(__file__).resolve().parents[3]
MOST_HOSTS = 80


class Lab:
    """`count` hosts gpu1.. at 10.77.0.11.., and `extra` named ones at 10.77.0.101...

    The lab owns `directory`, which is new or empty, and removes it in `down`. As a context manager
    it is up when entered. When this process ends without `down`, by any signal, the lab is taken
    down for it; with `outlives_parent` it stays instead, and `up` in the same directory finds it
    again. `bind_read_only` shows paths of this machine to every host (path -> path on the host): it
    spares a copy where the copy is not what is tested.
    """

    def __init__(
        self,
        count: int,
        directory: Path,
        *,
        extra: Sequence[str] = (),
        base: Base | None = None,
        bind_read_only: Mapping[Path, str] | None = None,
        outlives_parent: bool = False,
    ) -> None:
        names = [f"gpu{number}" for number in range(1, count + 1)]
        _check(names, extra, directory)
        self.addresses: Mapping[str, IPv4Address] = MappingProxyType(
            {name: CONTROLLER + 10 + index for index, name in enumerate(names)}
            | {name: CONTROLLER + 100 + index for index, name in enumerate(extra)}
        )
        self._directory = directory.absolute()
        self._base = base or Base()
        self._bind_read_only = dict(bind_read_only or {})
        self._kept = outlives_parent
        self._claimed: tuple[Record, int] | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._processes: list[ManagedProcess] = []

    @property
    def network(self) -> Network:
        """The lab's network; raises RuntimeError before `up`."""
        return Network(self._record.name)

    @property
    def access(self) -> Access:
        """The lab's SSH keys and configuration; `ssh -F <access.configuration> gpu1` works."""
        return Access(self._record.directory)

    @property
    def hosts(self) -> Mapping[str, Host]:
        """The hosts by name; raises RuntimeError before `up`."""
        network, access, directory = self.network, self.access, self._record.directory
        return {
            name: Host(name, address, directory / name, network, access)
            for name, address in self.addresses.items()
        }

    def up(self) -> None:
        """Return once every host is booted; hosts that are running already stay as they are.

        On a machine's first use this installs tools and makes the root. Raises
        EnvironmentUnavailable when the machine cannot boot hosts, and LabError when one does not
        boot; the lab is down then.
        """
        require()
        ensure_base(self._base)
        if self._claimed is None:
            self._claimed = claim(self._directory, kept=self._kept)
        try:
            self._start_keeper()
            self._boot()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """End all hosts and remove what was theirs; may be called twice, or before `up`."""
        if self._claimed is None:
            return
        record, held = self._claimed
        take_down(record)
        for process in self._processes:
            process.stop()
        self._processes.clear()
        if self._keeper is not None:
            self._keeper.communicate("down\n")
            self._keeper = None
        os.close(held)
        self._claimed = None

    def watch(self, address: str) -> PacketCounter:
        """Count what hosts send to an IPv4 address from now on; see `Network.watch`."""
        return self.network.watch(IPv4Address(address), self.addresses)

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """`argv`, changed so that it runs in the lab's network, which has no other way out."""
        return self.network.command(argv)

    @property
    def _record(self) -> Record:
        if self._claimed is None:
            raise RuntimeError("the lab is not up")
        return self._claimed[0]

    def _start_keeper(self) -> None:
        assert self._claimed is not None
        record, held = self._claimed
        if record.kept or self._keeper is not None:
            return
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "tests.lab.hosts.keeper", record.name, str(record.directory)],
            cwd=REPOSITORY,
            env=os.environ | {"PERIMETER_CACHE": str(cache_root())},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=(held,),
            start_new_session=True,
            text=True,
        )

    def _boot(self) -> None:
        self.network.create()
        self.access.write(self.network, self.addresses)
        # A host that runs stays as it is, even with a unit that a test made fail.
        off = [host for host in self.hosts.values() if not host.running]
        for host in off:
            self.network.add_host(host.name, host.address)
            self._processes.append(host.boot(self._base, self._bind_read_only))
        for host in off:
            host.wait_booted()

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.down()


def _check(names: Sequence[str], extra: Sequence[str], directory: Path) -> None:
    everyone = [*names, *extra]
    if len(names) > MOST_HOSTS or len(extra) > MOST_HOSTS or not everyone:
        raise ValueError(f"a lab has 1 to {MOST_HOSTS} hosts of a kind, not {len(everyone)}")
    if len(set(everyone)) != len(everyone):
        raise ValueError(f"two hosts of a lab have one name: {', '.join(everyone)}")
    for name in everyone:
        # It also names a network device, which has at most 15 characters.
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,14}", name):
            raise ValueError(f"not a host name of at most 15 lower-case characters: {name!r}")
    path = str(directory.absolute())
    if len(path) > LONGEST_DIRECTORY or not re.fullmatch(r"[\w./+-]+", path):
        raise LabError(
            where=path,
            rule=f"a lab's directory is a path of at most {LONGEST_DIRECTORY} plain characters, "
            "because sockets and mount options hold it",
            fix="name a shorter one",
        )
