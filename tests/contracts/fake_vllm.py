"""A small stand-in for vLLM's HTTP surface, for faults that a real engine does not show at will.

It speaks the streamed chat-completions form that vLLM 0.30 writes, and does for each call what the
test asked of the next one. The tests with the real engine are elsewhere.
"""

import json
import threading
from collections import deque
from dataclasses import dataclass, field


def chunk(delta=None, *, finish=None, **parts):
    """One chunk as the engine writes it."""
    choice = {"index": 0, "delta": delta or {}, "logprobs": None, "finish_reason": finish}
    document = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "analyst-small",
        "choices": [choice],
    }
    return b"data: " + json.dumps(document | parts, ensure_ascii=False).encode() + b"\n\n"


def usage(prompt=300, completion=20):
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return chunk(choices=[], usage=counts | {"total_tokens": prompt + completion})


FIRST = chunk({"role": "assistant", "content": ""})
DONE = b"data: [DONE]\n\n"


def says(*pieces, reason="stop"):
    """A reply of text."""
    texts = [chunk({"content": piece}) for piece in pieces]
    return [FIRST, *texts, chunk(finish=reason), usage(), DONE]


def calls(*named):
    """A reply of tool calls, with the arguments in two pieces, as vLLM streams them."""
    chunks = [FIRST]
    for index, (name, arguments) in enumerate(named):
        half = len(arguments) // 2
        head = {"index": index, "id": f"chatcmpl-tool-{index}", "type": "function"}
        head["function"] = {"name": name, "arguments": arguments[:half]}
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        chunks += [chunk({"tool_calls": [head]}), chunk({"tool_calls": [rest]})]
    return [*chunks, chunk(finish="tool_calls"), usage(), DONE]


STALL = "stall"
CUT = "cut"


@dataclass(frozen=True)
class Status:
    """An answer with this status and a JSON body."""

    code: int
    body: dict = field(default_factory=lambda: {"error": {"message": "no", "type": "x"}})


class Cut(Exception):
    """Raised inside the server so that it drops the connection."""


class FakeVllm:
    """The ASGI app. `script` holds what the next calls do; the last entry stays."""

    def __init__(self, *script):
        self.script = deque(script)
        self.bodies = []
        self.headers = []
        self.hung_up = threading.Event()

    async def __call__(self, scope, receive, send):
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(json.loads(body))
        self.headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
        action = self.script.popleft() if len(self.script) > 1 else self.script[0]
        if isinstance(action, Status):
            await self._status(action, send)
        else:
            await self._stream(action, receive, send)

    async def _status(self, action, send):
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": action.code, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(action.body).encode()})

    async def _stream(self, pieces, receive, send):
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in pieces:
            if piece == STALL:
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.hung_up.set()
                return
            if piece == CUT:
                raise Cut
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class FakeTools:
    """Tools over HTTP: per tool name a JSON value, or a (status, bytes) answer, or STALL."""

    def __init__(self, **answers):
        self.answers = answers
        self.calls = []

    async def __call__(self, scope, receive, send):
        message = await receive()
        name = scope["path"].rsplit("/", 1)[-1]
        headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        self.calls.append((name, json.loads(message["body"]), headers))
        answer = self.answers[name]
        if answer == STALL:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        status, body = answer if isinstance(answer, tuple) else (200, json.dumps(answer).encode())
        content_type = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": content_type})
        await send({"type": "http.response.body", "body": body})
