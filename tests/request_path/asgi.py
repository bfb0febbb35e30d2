"""Drives an ASGI app directly, in whatever time the loop keeps."""

import asyncio
import json
from dataclasses import dataclass, field

KEY = "a-client-key"


@dataclass
class Response:
    status: int | None = None
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    @property
    def events(self):
        """The data of each server-sent event, parsed but for the end marker."""
        texts = self.body.decode().removesuffix("\n\n").split("\n\n")
        assert all(text.startswith("data: ") for text in texts)
        return [t[6:] if t == "data: [DONE]" else json.loads(t[6:]) for t in texts]


async def call(
    app, method, path, *, body=b"", headers=None, key=KEY, gone=None, send_delay=0.0, slow=()
):
    """One exchange.

    `gone` is an event upon which the caller hangs up; `slow` are (seconds, bytes) of a body that
    drips.
    """
    response = Response()
    sent = [("content-type", "application/json"), *(headers or {}).items()]
    if key:
        sent.append(("authorization", f"Bearer {key}"))
    parts = list(slow) or [(0, body)]

    async def receive():
        if parts:
            seconds, part = parts.pop(0)
            await asyncio.sleep(seconds)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message):
        await asyncio.sleep(send_delay)
        if message["type"] == "http.response.start":
            assert response.status is None
            response.status = message["status"]
            response.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            response.body += message.get("body", b"")
            response.complete = not message.get("more_body", False)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent],
    }
    await app(scope, receive, send)
    return response


async def chat(app, *, headers=None, key=KEY, gone=None, send_delay=0.0, **body):
    """POST a chat request."""
    document = {"model": "demo", "messages": [{"role": "user", "content": "Hello."}]} | body
    return await call(
        app,
        "POST",
        "/v1/chat/completions",
        body=json.dumps(document).encode(),
        headers=headers,
        key=key,
        gone=gone,
        send_delay=send_delay,
    )
