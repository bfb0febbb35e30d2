"""One HTTP exchange over raw ASGI: the body in, a JSON document or an event stream out."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

from lambdas.assistant.errors import AssistantError, HttpRefused
from lambdas.assistant.prompt import compact_json

# The ASGI specification types messages as open mappings.
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 1024 * 1024
ERROR_SECONDS = 5


class ClientGone(Exception):
    """The caller closed the connection."""


class Exchange:
    """Reads one request and answers it once. `started` and `status` tell what has been sent."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: Mapping[bytes, bytes] = {
            key.lower(): value for key, value in scope["headers"]
        }
        self.status: int | None = None
        self.trace_id: str | None = None

    @property
    def started(self) -> bool:
        """Whether a status has been sent."""
        return self.status is not None

    async def read_json_body(self, *, seconds: float) -> bytes:
        """The body, not parsed.

        Raises `HttpRefused` when its header says that it is not plain JSON, when it is over 1 MiB
        or not there in `seconds`, and `ClientGone`.
        """
        content_type = self.headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if content_type != b"application/json":
            raise HttpRefused(
                "the body must be sent as content-type: application/json",
                status=415,
                code="unsupported_media_type",
            )
        if self.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise HttpRefused(
                "the body must not be compressed", status=415, code="unsupported_encoding"
            )
        try:
            async with asyncio.timeout(seconds):
                return await self._read_body()
        except TimeoutError:
            raise HttpRefused(
                f"the body was not complete within {seconds:g} s", status=408, code="body_too_slow"
            ) from None

    async def _read_body(self) -> bytes:
        length = self.headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            raise _too_large()
        body = bytearray()
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            body += message.get("body", b"")
            if len(body) > MAX_BODY_BYTES:
                raise _too_large()
            if not message.get("more_body", False):
                return bytes(body)

    async def until_disconnect(self) -> None:
        """Return when the caller closes the connection. Only once the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def send_json(
        self, status: int, document: object, *, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer with one document."""
        body = compact_json(document).encode()
        length = (b"content-length", str(len(body)).encode())
        await self._start(status, b"application/json", (length, *headers))
        await self._send({"type": "http.response.body", "body": body})

    async def send_error(
        self, error: AssistantError, *, perimeter: dict[str, object] | None = None
    ) -> None:
        """Answer with an error; inside a stream that has begun, as its last event.

        Raises `ClientGone` for a caller that does not even take the error.
        """
        document: dict[str, object] = error.document()
        if perimeter is not None:
            document["perimeter"] = perimeter
        try:
            async with asyncio.timeout(ERROR_SECONDS):
                if self.started:
                    await self.send_event(document)
                    await self._send({"type": "http.response.body", "body": b""})
                    return
                # OpenAI clients retry every 5xx unless told not to.
                retry = (b"x-should-retry", b"true" if error.retry else b"false")
                await self.send_json(error.status, document, headers=(retry,))
        except TimeoutError:
            raise ClientGone from None

    async def send_event(self, document: object) -> None:
        """One server-sent event; the first one sends status 200."""
        if not self.started:
            await self._start(200, b"text/event-stream; charset=utf-8", ())
        body = b"data: " + compact_json(document).encode() + b"\n\n"
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end_events(self) -> None:
        """The marker by which OpenAI clients know that a stream is complete."""
        await self._send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    async def _start(
        self, status: int, content_type: bytes, headers: Iterable[tuple[bytes, bytes]]
    ) -> None:
        self.status = status
        common = [(b"content-type", content_type), (b"cache-control", b"no-store"), *headers]
        if self.trace_id is not None:
            common.append((b"x-request-id", self.trace_id.encode()))
        await self._send({"type": "http.response.start", "status": status, "headers": common})


def _too_large() -> HttpRefused:
    return HttpRefused(
        f"the body is larger than {MAX_BODY_BYTES} bytes", status=413, code="body_too_large"
    )
