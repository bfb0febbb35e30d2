"""Runs tools that are HTTP services: POST of the arguments as JSON, JSON back.

200 is a result. 400, 404, 409 and 422 with a JSON object are the tool saying no ("no such
counterparty"), which the model is told. Anything else is a failure, about which the model is told
nothing, since it would fill the gap.
"""

from collections.abc import Mapping

import httpx2

from lambdas.assistant.plan import HttpTransport, Tool
from lambdas.assistant.prompt import compact_json
from lambdas.assistant.tools import CallContext, ToolCallFailed, ToolFailure, ToolResult

SAYS_NO = (400, 404, 409, 422)
MAX_RESULT_BYTES = 256 * 1024


class HttpTools:
    """`Tools` over HTTP.

    A call carries whose it is, its data label, and a key by which a repetition is known.
    """

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def call(
        self, tool: Tool, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        """See `Tools.call`."""
        if not isinstance(tool.transport, HttpTransport):
            raise TypeError(f"{tool.name} is not an HTTP tool")
        headers = {
            "content-type": "application/json",
            "perimeter-tenant": context.tenant,
            "perimeter-label": context.label,
            "idempotency-key": context.idempotency_key,
            **dict(context.trace_headers),
        }
        try:
            async with self._client.stream(
                "POST",
                tool.transport.url,
                content=compact_json(arguments).encode(),
                headers=headers,
            ) as response:
                return await _result(response)
        except httpx2.TransportError:
            raise ToolCallFailed(ToolFailure.UNREACHABLE) from None


async def _result(response: httpx2.Response) -> ToolResult:
    if response.status_code != 200 and response.status_code not in SAYS_NO:
        raise ToolCallFailed(ToolFailure.ERROR)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_RESULT_BYTES:
            raise ToolCallFailed(ToolFailure.TOO_LARGE)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolCallFailed(ToolFailure.NOT_JSON) from None
    if response.status_code == 200:
        return ToolResult(text=text, ok=True)
    if not text.lstrip().startswith("{"):
        raise ToolCallFailed(ToolFailure.ERROR)
    return ToolResult(text=text, ok=False)
