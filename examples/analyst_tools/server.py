"""The book behind HTTP: ``POST /tools/<name>`` with the arguments as a JSON object, ``GET
/health``.

An unknown row is an answer, not a failure (200, ``{"error": "not found"}``): the model has to say
so. Wrong arguments are 400.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from examples.analyst_tools.book import Book, NotFound

_MOST_BYTES = 64 * 1024


class ToolHandler(BaseHTTPRequestHandler):
    """Serves one book; the server object carries it."""

    protocol_version = "HTTP/1.1"
    server: ToolServer

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Answer the health check."""
        self._reply(200, {"status": "ok"}) if self.path == "/health" else self._reply(
            404, {"error": "unknown path"}
        )

    def do_POST(self) -> None:
        """Run one tool."""
        length = int(self.headers.get("Content-Length") or 0)
        if length > _MOST_BYTES:
            self.close_connection = True
            return self._reply(413, {"error": f"more than {_MOST_BYTES} bytes"})
        body = self.rfile.read(length)
        tool = self.server.book.tools.get(self.path.removeprefix("/tools/"))
        if tool is None:
            return self._reply(404, {"error": "unknown tool"})
        try:
            return self._reply(200, tool(**json.loads(body)))
        except NotFound:
            return self._reply(200, {"error": "not found"})
        except (TypeError, ValueError) as error:
            return self._reply(400, {"error": f"wrong arguments: {type(error).__name__}"})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
        """Write no access log: paths and arguments are the bank's."""


class ToolServer(ThreadingHTTPServer):
    """Threads share the read-only book."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__(address, ToolHandler)
        self.book = Book()
