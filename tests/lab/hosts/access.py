"""Reaching hosts by SSH: keys made for the lab, host keys known before the first connection."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path

from tests.lab.hosts.commands import run
from tests.lab.hosts.network import Network

# The longest path to a socket is 107 bytes, and below the lab's directory OpenSSH and Ansible
# need this much of it for the name of a shared connection.
LONGEST_DIRECTORY = 70


class Access:
    """The keys and the OpenSSH configuration of a lab, as files in its directory."""

    def __init__(self, directory: Path) -> None:
        self.configuration = directory / "ssh_config"
        self.control_directory = directory / "cp"
        self._known_hosts = directory / "known_hosts"
        self._identity = directory / "id_ed25519"
        self._host_keys = directory / "host_keys"

    def write(self, network: Network, hosts: Mapping[str, IPv4Address]) -> None:
        """Make the keys that are missing and write the configuration that knows every host."""
        self.control_directory.mkdir(mode=0o700, exist_ok=True)
        self._host_keys.mkdir(mode=0o700, exist_ok=True)
        _ensure_key(self._identity, comment="controller")
        known = []
        for host, address in hosts.items():
            _ensure_key(self.host_key(host), comment=host)
            public = self.host_key(host).with_suffix(".pub").read_text()
            known.append(f"{host},{address} {public}")
        self._known_hosts.write_text("".join(known))
        blocks = [
            f"Host {host} {address}\n  HostName {address}\n" for host, address in hosts.items()
        ]
        # The proxy steps into the lab's namespace, so that one configuration serves both a program
        # that runs there and one that does not.
        options = {
            "User": "root",
            "IdentityFile": f'"{self._identity}"',
            "IdentitiesOnly": "yes",
            "PreferredAuthentications": "publickey",
            "UserKnownHostsFile": f'"{self._known_hosts}"',
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "ProxyCommand": " ".join(network.command(["nc", "%h", "%p"])),
        }
        blocks.append("Host *\n" + "".join(f"  {key} {value}\n" for key, value in options.items()))
        self.configuration.write_text("\n".join(blocks))

    def host_key(self, host: str) -> Path:
        """The private key by which a host proves who it is."""
        return self._host_keys / host

    @property
    def authorized_keys(self) -> str:
        """The line by which a host lets the controller in."""
        return self._identity.with_suffix(".pub").read_text()


def _ensure_key(path: Path, *, comment: str) -> None:
    if not path.exists():
        generate = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment]
        run([*generate, "-f", path], where="lab's SSH keys")
