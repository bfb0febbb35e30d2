"""One chat request over HTTP: admitted, answered by the assistant, written in the OpenAI form."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

from lambdas.assistant import semantic_names as names
from lambdas.assistant.admission import ChatRequest, admit
from lambdas.assistant.breakdown import breakdown
from lambdas.assistant.conversation import Assistant
from lambdas.assistant.deadline import Deadline
from lambdas.assistant.events import AnswerComplete, AnswerText, Record
from lambdas.assistant.exchange import Exchange
from lambdas.assistant.openai_format import ResponseForm
from lambdas.assistant.trace import Trace
from lambdas.assistant.turn import Turn

# The steps keep the deadline by themselves and say which of them it ended; this is for a caller
# that reads too slowly.
SENDING_SECONDS = 0.1


class Chat:
    """The state of one request. `admit` comes first, then `respond`."""

    def __init__(self, *, assistant: Assistant, exchange: Exchange, trace: Trace) -> None:
        self.exchange = exchange
        self.tenant: str | None = None
        self._assistant = assistant
        self._trace = trace
        self._record = Record()
        self._request: ChatRequest | None = None

    async def admit(self, identify: Callable[[Mapping[bytes, bytes]], str]) -> None:
        """Name the tenant, read the body.

        Nothing of the body is read for a caller that is not known.
        """
        plan, trace = self._assistant.plan, self._trace
        with trace.step(names.ADMIT, start_ns=trace.start_ns):
            self.tenant = identify(self.exchange.headers)
            trace.set(names.TENANT, self.tenant)
            body = await self.exchange.read_json_body(seconds=plan.default_deadline_ms / 1000)
            self._request = admit(body, model=plan.deployment, max_deadline_ms=plan.max_deadline_ms)
            trace.set(names.REQUEST_STREAM, self._request.stream)

    async def respond(self) -> None:
        """Answer. Raises an `AssistantError`, also in the midst of a stream."""
        request, tenant = self._request, self.tenant
        if request is None or tenant is None:
            raise RuntimeError("admit comes first")
        plan, trace = self._assistant.plan, self._trace
        deadline = Deadline.after(
            request.deadline_ms or plan.default_deadline_ms,
            clock=self._assistant.clock,
            since_ns=trace.start_ns,
        )
        form = ResponseForm(
            id=f"chatcmpl-{trace.trace_id}",
            created=self._assistant.clock.unix_ns() // 1_000_000_000,
            model=plan.deployment,
        )
        turn = Turn(
            request=request, tenant=tenant, deadline=deadline, trace=trace, record=self._record
        )
        answer = self._stream(turn, form) if request.stream else self._whole(turn, form)
        try:
            async with asyncio.timeout(deadline.remaining_seconds() + SENDING_SECONDS):
                await answer
        except TimeoutError:
            raise deadline.exceeded() from None

    def breakdown(self) -> dict[str, object] | None:
        """The breakdown as of now, when the caller asked for one."""
        if self._request is None or not self._request.trace:
            return None
        return breakdown(self._trace, self._record)

    async def _whole(self, turn: Turn, form: ResponseForm) -> None:
        text = ""
        async with aclosing(self._assistant.converse(turn)) as events:
            async for event in events:
                match event:
                    case AnswerText(piece):
                        text += piece
                    case AnswerComplete(finish_reason, usage):
                        document = form.completion(
                            text=text,
                            finish_reason=finish_reason,
                            usage=usage,
                            perimeter=self.breakdown(),
                        )
                        await self.exchange.send_json(200, document)

    async def _stream(self, turn: Turn, form: ResponseForm) -> None:
        exchange, include_usage = self.exchange, turn.request.include_usage
        async with aclosing(self._assistant.converse(turn)) as events:
            async for event in events:
                match event:
                    case AnswerText(piece):
                        if not exchange.started:
                            await exchange.send_event(form.first_chunk())
                        await exchange.send_event(form.text_chunk(piece))
                    case AnswerComplete(finish_reason, usage):
                        # The breakdown goes into whichever chunk is the last.
                        last = None if include_usage else self.breakdown()
                        await exchange.send_event(
                            form.last_chunk(finish_reason=finish_reason, perimeter=last)
                        )
                        if include_usage:
                            await exchange.send_event(
                                form.usage_chunk(usage=usage, perimeter=self.breakdown())
                            )
                        await exchange.end_events()
