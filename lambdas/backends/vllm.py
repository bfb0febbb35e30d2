"""Calls vLLM over its OpenAI API, always as a stream, so that every wait can be watched."""

import json
from collections.abc import AsyncGenerator

import httpx2

from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    ModelEvent,
    ModelRequest,
    Target,
)
from lambdas.backends.chat_body import chat_body
from lambdas.backends.chat_chunks import events_of
from lambdas.backends.sse import EventReader, EventTooLarge

DONE = b"[DONE]"
MAX_ERROR_BYTES = 64 * 1024


class VllmBackend:
    """A `ModelBackend` for pools of kind vllm.

    `key` is the engines' API key, or None when they have none.
    """

    def __init__(self, client: httpx2.AsyncClient, *, key: str | None) -> None:
        self._client = client
        self._headers = {"content-type": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"

    async def stream(
        self, request: ModelRequest, target: Target
    ) -> AsyncGenerator[ModelEvent, None]:
        """See `ModelBackend.stream`.

        Leaving the generator closes the connection, and the engine drops the request.
        """
        try:
            async with self._client.stream(
                "POST",
                f"{target.replica.url}/v1/chat/completions",
                content=chat_body(request, model=target.pool.model),
                headers=self._headers | dict(target.trace_headers),
                timeout=httpx2.Timeout(None, connect=target.connect_seconds),
            ) as response:
                if response.status_code != 200:
                    raise BackendFailure(await _refusal(response))
                async for event in _events(response):
                    yield event
        except httpx2.ConnectTimeout:
            raise BackendFailure(Failure.CONNECT_TIMEOUT) from None
        except httpx2.TransportError:
            # Refused, reset, or closed in the midst of a reply: to the caller of the engine these
            # are one.
            raise BackendFailure(Failure.CONNECTION) from None


async def _events(response: httpx2.Response) -> AsyncGenerator[ModelEvent, None]:
    reader = EventReader()
    finished = False
    try:
        async for piece in response.aiter_raw():
            for data in reader.feed(piece):
                if data == DONE:
                    return
                for event in events_of(data):
                    finished = finished or isinstance(event, Finished)
                    yield event
    except EventTooLarge:
        raise BackendFailure(Failure.PROTOCOL) from None
    if not finished:
        raise BackendFailure(Failure.CUT)


async def _refusal(response: httpx2.Response) -> Failure:
    """The failure behind a status. A redirect is not followed and counts as a refusal."""
    status = response.status_code
    if status in (429, 503):
        return Failure.OVERLOADED
    if status >= 500:
        return Failure.SERVER_ERROR
    if status in (400, 413, 422) and _is_context_length(await _start_of(response)):
        return Failure.CONTEXT_LENGTH
    return Failure.REFUSED


async def _start_of(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_ERROR_BYTES:
            break
    return bytes(body)


def _is_context_length(body: bytes) -> bool:
    """Whether the engine refuses because the prompt is too long. It says so in words only."""
    try:
        document = json.loads(body)
    except ValueError:
        return False
    if not isinstance(document, dict):
        return False
    error = document.get("error", document)
    message = error.get("message") if isinstance(error, dict) else None
    return isinstance(message, str) and (
        "context length" in message
        or "max_model_len" in message
        or "maximum model length" in message
    )
