"""The running parts of the demo: registry, two engines, the book's tools and the gateway; all on
loopback, all stopped at the end."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from examples.demo.pipeline import DEPLOYMENT, ROOT
from tests.lab.engine import Engine
from tests.lab.example import tools_port
from tests.lab.services import clients_file_text, start_gateway, start_tools


class PortTaken(Exception):
    """A port of the deployment file is in use; the message says which and what to do."""


def deployment_ports() -> dict[str, int]:
    """Return the fixed ports that deployments/demo.yaml declares, by part."""
    declared: dict[str, Any] = yaml.safe_load((ROOT / DEPLOYMENT).read_text(encoding="utf-8"))
    pools = declared["pools"].items()
    ports = {name: int(pool["port"]) for name, pool in pools if pool["kind"] == "vllm"}
    ports["gateway"] = int(declared["on_prem"]["gateway"]["port"])
    ports["tools"] = tools_port(declared)
    return ports


def require_free(ports: dict[str, int]) -> None:
    """Raise PortTaken when one of the ports cannot be bound on loopback."""
    for name, port in ports.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                raise PortTaken(
                    f"port {port} ({name}) is in use; stop an earlier `KEEP=1 make demo` "
                    f"(Ctrl-C in its terminal), or change the port in {DEPLOYMENT}"
                ) from None


class Keys:
    """A fresh key for the engines and one per tenant, in the files that the deployment file refers
    to; only this user reads them.

    The gateway gets the SHA-256 of the tenants' keys, never the keys.
    """

    def __init__(self, directory: Path, tenants: tuple[str, ...]) -> None:
        directory.mkdir(parents=True, mode=0o700)
        self.engine = self._write(directory / "engine", secrets.token_urlsafe(32))
        self.of_tenant = {name: secrets.token_urlsafe(32) for name in tenants}
        for name, key in self.of_tenant.items():
            self._write(directory / name, key)
        self.clients = self._write(directory / "clients", clients_file_text(self.of_tenant))

    @staticmethod
    def _write(path: Path, text: str) -> Path:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        return path


class Stack:
    """Starts parts and stops them in reverse order when its context ends."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.logs = state / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.keys = Keys(state / "keys", ("analysts", "markets"))
        self.ports = deployment_ports()
        self._parts = ExitStack()

    def __enter__(self) -> Stack:
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def engine(self, name: str, serve: Path, model: Path) -> Engine:
        """Begin starting one engine; `wait_ready` on the result blocks until it answers."""
        engine = Engine(
            serve_yaml=serve,
            model_directory=model,
            port=self.ports[name],
            api_key_file=self.keys.engine,
            log=self.logs / f"{name}.log",
        )
        self._parts.callback(engine.stop)
        engine.start()
        return engine

    def tools(self) -> None:
        """Start the book's tool server and wait for it."""
        part = start_tools(port=self.ports["tools"], log=self.logs / "tools.log")
        self._parts.callback(part.stop)

    def gateway(self, plan: Path) -> str:
        """Start the gateway on the rendered plan, wait for it, and return its address."""
        part = start_gateway(
            plan=plan,
            clients=self.keys.clients,
            engine_key=self.keys.engine,
            port=self.ports["gateway"],
            spans=self.state / "spans.jsonl",
            log=self.logs / "gateway.log",
        )
        self._parts.callback(part.stop)
        return f"http://127.0.0.1:{self.ports['gateway']}"
