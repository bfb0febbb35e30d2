"""The on-prem path of the built example, as running parts: the book's tools and the gateway before
two real engines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from tests.lab.engine import Engine
from tests.lab.example import BuiltExample, tools_port
from tests.lab.services import clients_file_text, start_gateway, start_tools

KEYS = {"analysts": "key-of-the-analysts", "markets": "key-of-the-markets-desk"}


class OnPremPath:
    """A context manager; `ask` sends one request to the gateway as a tenant."""

    def __init__(
        self, example: BuiltExample, engines: Mapping[str, Engine], directory: Path
    ) -> None:
        self.example = example
        self.engines = engines
        self.directory = directory
        self.spans = directory / "spans.jsonl"
        self.gateway_log = directory / "gateway.log"
        self.tools_log = directory / "tools.log"
        self.plan = json.loads(
            (example.rendered / "on_prem" / "request_plan.json").read_text(encoding="utf-8")
        )
        self.url = f"http://127.0.0.1:{example.content['on_prem']['gateway']['port']}"
        self._parts = ExitStack()

    def __enter__(self) -> Self:
        clients = self.directory / "clients"
        clients.write_text(clients_file_text(KEYS), encoding="utf-8")
        key_file = self.directory / "engine-key"
        key_file.write_text(str(self.engines["small"].api_key), encoding="utf-8")
        tools = start_tools(port=tools_port(self.example.content), log=self.tools_log)
        self._parts.callback(tools.stop)
        gateway = start_gateway(
            plan=self.example.rendered / "on_prem" / "request_plan.json",
            clients=clients,
            engine_key=key_file,
            port=self.example.content["on_prem"]["gateway"]["port"],
            spans=self.spans,
            log=self.gateway_log,
        )
        self._parts.callback(gateway.stop)
        self.gateway_pid = gateway.pid
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._parts.close()

    def post(self, body: Mapping[str, Any], *, tenant: str = "analysts") -> httpx2.Response:
        """Send a chat-completions body."""
        return httpx2.post(
            f"{self.url}/v1/chat/completions",
            json=dict(body),
            headers={"Authorization": f"Bearer {KEYS[tenant]}"},
            timeout=60,
        )

    def ask(
        self,
        text: str,
        *,
        tenant: str = "analysts",
        history: tuple[dict[str, Any], ...] = (),
        **metadata: str,
    ) -> httpx2.Response:
        """Ask one question with the breakdown; `metadata` names go without their prefix."""
        wanted = {"trace": "steps", **metadata}
        return self.post(
            {
                "model": "demo",
                "messages": [*history, {"role": "user", "content": text}],
                "metadata": {f"perimeter.{name}": value for name, value in wanted.items()},
            },
            tenant=tenant,
        )
