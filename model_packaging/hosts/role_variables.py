"""What an operator may set for each role, beside the deployment file, and what a role reads of it.

`python -m model_packaging.hosts.role_files` writes each role's `meta/argument_specs.yml` and
`defaults/main.yml` from these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field

from model_packaging.deployment.on_prem import AbsolutePath
from model_packaging.deployment.section import Section

_Seconds = Annotated[int, Field(ge=1)]


class Preflight(Section):
    """Look at the hosts and the controller, and fail before anything is changed."""

    preflight_clock_tolerance_seconds: _Seconds = Field(
        default=30, description="Largest difference between a host's clock and the controller's."
    )
    preflight_free_gib: Annotated[int, Field(ge=1)] = Field(
        default=12, description="Free space below /opt and /var/lib, in GiB, beside the packages."
    )


class HostSystem(Section):
    """Users, folders, Debian packages without a network, and the firewall."""

    host_bundle: str = Field(
        default="",
        description="Archive on the controller with .deb files and their index; empty: the host's "
        "own package sources have what is needed.",
    )
    host_admin_networks: tuple[str, ...] = Field(
        default=("0.0.0.0/0",), description="IPv4 networks that may open SSH connections."
    )
    host_client_networks: tuple[str, ...] = Field(
        default=("0.0.0.0/0",), description="IPv4 networks that may call the gateway."
    )
    host_outbound: tuple[Mapping[str, Any], ...] = Field(
        default=(),
        description="What a host may reach beside its peers and the tools of the deployment; each "
        "has address, port and perhaps protocol (tcp or udp), such as a clock or a name server.",
    )


class Runtime(Section):
    """vLLM from hash-pinned wheels, in a folder of its own version."""

    runtime_root: AbsolutePath = Field(
        default="/opt/perimeter/runtime", description="Folder of the installed versions."
    )


class Model(Section):
    """The packages of the lock, checked on the controller and on the host, behind one link."""


class Vllm(Section):
    """One engine per model of the host, up only when it is healthy."""

    vllm_environment: Mapping[str, str] = Field(
        default={}, description="More environment variables of every engine; never a secret."
    )
    vllm_start_timeout_seconds: _Seconds = Field(
        default=900, description="Longest time from the start of an engine until it is healthy."
    )
    vllm_canary_timeout_seconds: _Seconds = Field(
        default=120, description="Longest time of the golden tool call after a start."
    )


class Gateway(Section):
    """The request path as a service, in an environment with nothing else in it."""

    gateway_root: AbsolutePath = Field(
        default="/opt/perimeter/gateway", description="Folder of the installed versions."
    )


class Edge(Section):
    """HAProxy: TLS and a list of allowed paths before the gateway and every engine."""


class Venv(Section):
    """A virtual environment from an archive of hash-pinned wheels, without a package index."""

    venv_name: str = Field(description="What it is for, in one word.")
    venv_lock: str = Field(description="Lock on the controller, every requirement with its hash.")
    venv_wheels: str = Field(description="Folder on the controller with the wheels it pins.")
    venv_root: AbsolutePath = Field(description="Folder on the host of its versions.")


ROLES: Mapping[str, type[Section]] = MappingProxyType(
    {
        "preflight": Preflight,
        "host": HostSystem,
        "runtime": Runtime,
        "model": Model,
        "vllm": Vllm,
        "gateway": Gateway,
        "edge": Edge,
        "venv": Venv,
    }
)

# What the inventory gives, with its type in Ansible's words.
FROM_INVENTORY: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "perimeter_address": ("str", "Address of the host, as in the deployment."),
        "perimeter_carried": ("path", "Folder on the controller with archives for the hosts."),
        "perimeter_clients": ("dict", "File on the host with the client key, by tenant."),
        "perimeter_deployment": ("str", "Name of the deployment."),
        "perimeter_deployment_file": ("path", "The deployment file on the controller."),
        "perimeter_engine_ports": ("list", "Ports of all engines of the deployment."),
        "perimeter_engines": ("list", "Engines of the host: model, port, served name, stop time."),
        "perimeter_front_port": ("int", "Port on which callers reach the gateway, over TLS."),
        "perimeter_gateway_port": ("int", "Port of the gateway on loopback."),
        "perimeter_gpu": ("bool", "Whether the host has a GPU."),
        "perimeter_model_root": ("str", "Folder (a link) with the package of each model."),
        "perimeter_outbound": ("list", "Address and port of every tool on another host."),
        "perimeter_packages": ("dict", "Folder on the controller and digests, by model."),
        "perimeter_peers": ("list", "Addresses of all hosts of the deployment."),
        "perimeter_rendered": ("path", "Folder on the controller with the rendered files."),
        "perimeter_secrets": ("dict", "File on the host, by secret: engine_key, tls_..."),
        "perimeter_wheelhouse": ("path", "Folder on the controller with wheels and their locks."),
    }
)

READS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "preflight": (
            *("perimeter_clients", "perimeter_engines"),
            *("perimeter_front_port", "perimeter_gateway_port"),
            *("perimeter_secrets", "perimeter_wheelhouse"),
        ),
        "host": (
            *("perimeter_engine_ports", "perimeter_front_port"),
            *("perimeter_outbound", "perimeter_peers"),
        ),
        "runtime": ("perimeter_engines", "perimeter_wheelhouse"),
        "venv": ("perimeter_carried",),
        "model": ("perimeter_engines", "perimeter_model_root", "perimeter_packages"),
        "vllm": (
            *("perimeter_engines", "perimeter_gpu", "perimeter_model_root"),
            *("perimeter_packages", "perimeter_rendered", "perimeter_secrets"),
        ),
        "gateway": (
            *("perimeter_carried", "perimeter_clients", "perimeter_gateway_port"),
            *("perimeter_rendered", "perimeter_secrets", "perimeter_wheelhouse"),
        ),
        "edge": (
            *("perimeter_address", "perimeter_engines", "perimeter_front_port"),
            *("perimeter_gateway_port", "perimeter_secrets"),
        ),
    }
)
