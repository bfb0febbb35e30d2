"""The two services before the engines: the book's tools and the gateway, as processes on
loopback."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.lab.ports import LOOPBACK
from tests.lab.processes import ManagedProcess, base_environment

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 30.0


def start_tools(*, port: int, log: Path) -> ManagedProcess:
    """Start the book's tool server; it answers when this returns. Raises LabError."""
    argv = ["-m", "examples.analyst_tools", "--port", str(port)]
    return _start("tools", argv, {}, log=log, port=port)


def start_gateway(
    *, plan: Path, clients: Path, engine_key: Path, port: int, spans: Path, log: Path
) -> ManagedProcess:
    """Start the gateway on a rendered plan; it answers when this returns. Raises LabError."""
    settings = {
        "PERIMETER_PLAN": str(plan),
        "PERIMETER_CLIENTS_FILE": str(clients),
        "PERIMETER_ENGINE_KEY_FILE": str(engine_key),
        "PERIMETER_LISTEN": f"{LOOPBACK}:{port}",
        "PERIMETER_SPANS_FILE": str(spans),
    }
    return _start("gateway", ["-m", "lambdas.gateway"], settings, log=log, port=port)


def clients_file_text(keys: Mapping[str, str]) -> str:
    """What the gateway knows of its callers: a tenant and the SHA-256 of its key a line."""
    lines = (f"{name} {hashlib.sha256(key.encode()).hexdigest()}\n" for name, key in keys.items())
    return "".join(lines)


def _start(
    name: str, argv: list[str], settings: Mapping[str, str], *, log: Path, port: int
) -> ManagedProcess:
    environment = base_environment() | {"PYTHONPATH": str(ROOT)} | dict(settings)
    part = ManagedProcess([sys.executable, *argv], env=environment, log_path=log, name=name)
    try:
        part.wait_http(f"http://{LOOPBACK}:{port}/health", READY_SECONDS)
    except BaseException:
        part.stop()
        raise
    return part
