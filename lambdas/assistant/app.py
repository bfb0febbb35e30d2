"""The one ASGI app of every place: OpenAI chat completions, the list of models, and health."""

import asyncio
import contextlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence

from opentelemetry.trace import Tracer

from lambdas.assistant import semantic_names as names
from lambdas.assistant.chat import Chat
from lambdas.assistant.conversation import Assistant
from lambdas.assistant.deadline import NANOSECONDS_PER_MILLISECOND
from lambdas.assistant.errors import AssistantError, HttpRefused, NotFound
from lambdas.assistant.exchange import ClientGone, Exchange, Receive, Scope, Send
from lambdas.assistant.openai_format import models_document
from lambdas.assistant.trace import Trace, error_type

Identify = Callable[[Mapping[bytes, bytes]], str]
Close = Callable[[], Awaitable[None]]

log = logging.getLogger("perimeter.request")


class ChatApp:
    """Serves one `Assistant`.

    `identify` maps the headers to a tenant of the plan or raises `NotAuthenticated`. `on_close` is
    awaited at shutdown, in order.
    """

    def __init__(
        self,
        *,
        assistant: Assistant,
        identify: Identify,
        tracer: Tracer,
        on_close: Sequence[Close] = (),
    ) -> None:
        self._assistant = assistant
        self._identify = identify
        self._tracer = tracer
        self._on_close = on_close

    @property
    def longest_seconds(self) -> int:
        """How long a request that has begun may still run: what a shutdown has to wait."""
        return -(-self._assistant.plan.max_deadline_ms // 1000)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection, as ASGI 3 asks."""
        match scope["type"]:
            case "http":
                await self._http(Exchange(scope, receive, send))
            case "lifespan":
                await self._lifespan(receive, send)
            case kind:
                raise ValueError(f"no {kind} connections here")

    async def _http(self, exchange: Exchange) -> None:
        try:
            match exchange.method, exchange.path:
                case "GET", "/health":
                    await exchange.send_json(200, {"status": "ok"})
                case "GET", "/v1/models":
                    self._identify(exchange.headers)
                    model = self._assistant.plan.deployment
                    await exchange.send_json(200, models_document(model=model, owner="perimeter"))
                case "POST", "/v1/chat/completions":
                    await self._chat(exchange)
                case _, "/health" | "/v1/models" | "/v1/chat/completions":
                    message = f"{exchange.path} does not take {exchange.method}"
                    raise HttpRefused(message, status=405, code="method_not_allowed")
                case _:
                    raise NotFound(f"{exchange.path} does not exist", code="path_not_found")
        except AssistantError as error:
            await exchange.send_error(error)

    async def _chat(self, exchange: Exchange) -> None:
        clock, plan = self._assistant.clock, self._assistant.plan
        start_ns = clock.monotonic_ns()
        parent = exchange.headers.get(b"traceparent")
        trace = Trace(
            clock=clock,
            tracer=self._tracer,
            root_name=f"{names.OPERATION_WORKFLOW} {plan.deployment}",
            traceparent=parent.decode("latin-1") if parent else None,
            start_ns=start_ns,
        )
        trace.set(names.OPERATION, names.OPERATION_WORKFLOW)
        trace.set(names.DEPLOYMENT, plan.deployment)
        trace.set(names.PLACE, plan.place)
        exchange.trace_id = trace.trace_id
        chat = Chat(assistant=self._assistant, exchange=exchange, trace=trace)
        outcome: str | None = "cancelled"
        try:
            outcome = await self._answer(chat)
        finally:
            if exchange.status is not None:
                trace.set(names.HTTP_STATUS, exchange.status)
            trace.end(error=outcome)
            log.info(
                "chat status=%s tenant=%s outcome=%s ms=%d trace=%s",
                exchange.status,
                chat.tenant,
                outcome or "ok",
                (clock.monotonic_ns() - start_ns) // NANOSECONDS_PER_MILLISECOND,
                trace.trace_id,
            )

    async def _answer(self, chat: Chat) -> str | None:
        """Run the chat to its end. Returns the error code, None when it went well."""
        try:
            try:
                await chat.admit(self._identify)
                await _while_connected(chat)
            except AssistantError as error:
                await chat.exchange.send_error(error, perimeter=chat.breakdown())
                return error.code
            except ClientGone:
                raise
            except Exception as error:
                unforeseen = _unforeseen(error)
                await chat.exchange.send_error(unforeseen)
                return unforeseen.code
        except ClientGone:
            return "client_gone"
        return None

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                for close in self._on_close:
                    await close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _unforeseen(error: Exception) -> AssistantError:
    """Log where an exception came from. Its message may quote content, so it is left out."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{f.filename}:{f.lineno} {f.name}" for f in reversed(frames))
    log.error("chat failed: %s at %s", error_type(error), places)
    return AssistantError(
        "an unforeseen error; the log of the service names its place", code="internal_error"
    )


async def _while_connected(chat: Chat) -> None:
    """Run the chat, and end every call it has under way as soon as the caller is gone."""
    work = asyncio.ensure_future(chat.respond())
    gone = asyncio.ensure_future(chat.exchange.until_disconnect())
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientGone
        await work
    finally:
        for task in (work, gone):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
