"""A network of its own for a lab: a bridge that hosts hang on, and no way out of it.

Everything lies in network namespaces named after the lab: `<lab>` holds the bridge, its address
10.77.0.1 and whatever a test runs beside the hosts; `<lab>-<host>` holds the one network device of
a host. No namespace has a device that leads to the machine's own network.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

from tests.lab.errors import LabError
from tests.lab.hosts.commands import run

CONTROLLER = IPv4Address("10.77.0.1")
PREFIX = 24
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000
Made = TypeVar("Made")


@dataclass(frozen=True)
class PacketCounter:
    """Counts IPv4 packets that any host sends to `address`, whether or not somebody answers."""

    network: Network
    address: IPv4Address

    @property
    def rule_name(self) -> str:
        """What the counter is called among the namespace's nftables rules."""
        return f"to_{self.address}".replace(".", "_")

    def packets(self) -> int:
        """How many since the address was first watched."""
        command = ["nft", "-j", "list", "counter", "bridge", "lab", self.rule_name]
        listed = json.loads(run(self.network.command(command), where=self.network.name))
        return int(next(o["counter"]["packets"] for o in listed["nftables"] if "counter" in o))


@dataclass(frozen=True)
class Network:
    """The network of the lab `name`. Creating what is already there changes nothing."""

    name: str

    def namespace(self, host: str) -> Path:
        """The network namespace of a host, as a path."""
        return NAMESPACES / f"{self.name}-{host}"

    def create(self) -> None:
        """Make the lab's namespace with its bridge, and the table that counts."""
        if (NAMESPACES / self.name).exists():
            return
        run(["ip", "netns", "add", self.name], where=self.name)
        self._ip(
            self.name,
            "link set lo up",
            "link add br0 type bridge",
            f"address add {CONTROLLER}/{PREFIX} dev br0",
            "link set br0 up",
        )
        # Of the bridge family, because a packet from host to host never reaches the IP hooks.
        self._nft(
            "add table bridge lab",
            "add chain bridge lab arriving { type filter hook prerouting priority -300 ; }",
        )

    def add_host(self, host: str, address: IPv4Address) -> None:
        """Make a host's namespace, its device `host0` and the other end on the bridge."""
        inside = self.namespace(host)
        if inside.exists():
            return
        run(["ip", "netns", "add", inside.name], where=inside.name)
        self._ip(
            self.name,
            f"link add {host} type veth peer name host0 netns {inside.name}",
            f"link set {host} master br0 up",
        )
        self._ip(
            inside.name,
            "link set lo up",
            f"address add {address}/{PREFIX} dev host0",
            "link set host0 up",
        )

    def watch(self, address: IPv4Address, hosts: Mapping[str, IPv4Address]) -> PacketCounter:
        """Count what hosts send to `address`.

        Unless it is a host's own, the lab's namespace gets the address and the hosts a route to it:
        a program in the namespace can then listen there, as the service whose address it is would.
        """
        counter = PacketCounter(self, address)
        name = counter.rule_name
        if name in run(self.command(["nft", "list", "counters"]), where=self.name):
            return counter
        if address not in hosts.values():
            self._ip(self.name, f"address replace {address}/32 dev br0")
            for host in hosts:
                inside = self.namespace(host).name
                self._ip(inside, f"route replace {address}/32 via {CONTROLLER}")
        self._nft(
            f"add counter bridge lab {name}",
            f"add rule bridge lab arriving ip daddr {address} counter name {name}",
        )
        return counter

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """`argv`, changed so that it runs inside the lab's namespace."""
        return ["ip", "netns", "exec", self.name, *(str(argument) for argument in argv)]

    def connect(self, address: str, port: int, *, timeout_seconds: float) -> socket.socket:
        """A TCP connection from the lab's namespace; raises OSError as `create_connection` does."""
        return self._inside(lambda: socket.create_connection((address, port), timeout_seconds))

    def listen(self, address: str, port: int) -> socket.socket:
        """A listening TCP socket on an address of the lab's namespace, for a server in a test."""
        return self._inside(lambda: socket.create_server((address, port)))

    def wait_port(self, address: str, port: int, *, timeout_seconds: float) -> None:
        """Return once something accepts connections there; raises LabError when nothing does."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                return self.connect(address, port, timeout_seconds=1).close()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise LabError(
                        where=f"{address}:{port}",
                        rule=f"it took no connection within {timeout_seconds:.0f} s ({error})",
                        fix="see whether the program that should listen there runs",
                    ) from None
            time.sleep(0.05)

    def _inside(self, make: Callable[[], Made]) -> Made:
        # A socket stays in the namespace of the thread that made it, so a thread is enough.
        def joined() -> Made:
            libc = ctypes.CDLL(None, use_errno=True)
            with (NAMESPACES / self.name).open() as namespace:
                if libc.setns(namespace.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return make()

        with ThreadPoolExecutor(max_workers=1) as executor:
            return executor.submit(joined).result()

    def _ip(self, namespace: str, *lines: str) -> None:
        batch = "\n".join(lines)
        run(["ip", "-n", namespace, "-batch", "-"], where=namespace, stdin=batch)

    def _nft(self, *lines: str) -> None:
        run(self.command(["nft", "-f", "-"]), where=self.name, stdin="\n".join(lines))
