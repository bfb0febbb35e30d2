"""`on_prem`: the company's own hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from model_packaging.deployment.problems import refuse
from model_packaging.deployment.secret_references import SecretReference
from model_packaging.deployment.section import Name, Section, Text


def _is_absolute(value: str) -> str:
    path = PurePosixPath(value)
    if not path.is_absolute() or ".." in path.parts or str(path) != value:
        raise refuse(
            "",
            rule=f"`{value}` is not a plain absolute path",
            fix="write it from `/`, without `..`",
        )
    return value


AbsolutePath = Annotated[str, AfterValidator(_is_absolute)]


class Gpu(Section):
    """The GPUs of a host, checked before anything is changed there."""

    model: Text = Field(description="Name as `nvidia-smi` prints it.")
    count: Annotated[int, Field(ge=1, le=16)] = Field(default=1, description="How many.")
    memory_gib: Annotated[int, Field(ge=4)] = Field(description="Memory of each, in GiB.")


class Host(Section):
    """One host."""

    address: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.:-]+$")] = Field(
        description="IP address or DNS name."
    )
    gpu: Gpu | None = Field(default=None, description="GPUs; unset on a host without any.")

    @property
    def is_loopback(self) -> bool:
        """Whether the address is this machine itself."""
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return self.address == "localhost"


class Tls(Section):
    """Certificates of the front door on each host."""

    certificate: SecretReference = Field(description="Certificate chain.")
    key: SecretReference = Field(description="Private key.")
    authority: SecretReference = Field(
        description="Certificate of the authority that clients trust."
    )


class Keys(Section):
    """Keys between our own parts."""

    engine_key: SecretReference = Field(description="The key the gateway shows to every engine.")


class Gateway(Section):
    """The request path as a service."""

    port: Annotated[int, Field(ge=1024, le=65535)] = Field(
        default=18100, description="TCP port on loopback."
    )


class OnPrem(Section):
    """The on-prem place."""

    hosts: Annotated[Mapping[Name, Host], Field(min_length=1)] = Field(description="Hosts by name.")
    model_root: AbsolutePath = Field(
        default="/var/lib/perimeter/models/current",
        description="Folder on every host with the package of each model under its key.",
    )
    gateway: Gateway = Field(default=Gateway(), description="The gateway.")
    keys: Keys = Field(description="Keys, as references.")
    tls: Tls | None = Field(
        default=None, description="Certificates; required as soon as a host is not this machine."
    )
    wheelhouse: AbsolutePath | None = Field(
        default=None, description="Folder with the hash-pinned wheels, for hosts without an index."
    )

    @model_validator(mode="after")
    def _nothing_crosses_a_network_in_clear(self) -> OnPrem:
        remote = sorted(name for name, host in self.hosts.items() if not host.is_loopback)
        if remote and self.tls is None:
            raise refuse(
                "tls",
                rule=f"is missing, but {', '.join(remote)} would be reached over the network: "
                "requests and the engine's key would travel in clear",
                fix="add `tls` with certificate, key and authority",
            )
        return self
