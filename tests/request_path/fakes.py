"""Fakes of the assistant's Protocols: they do what a script says and remember every call."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import NoOpTracer

from lambdas.assistant.admission import ChatRequest
from lambdas.assistant.backend import (
    BackendFailure,
    Failure,
    Finished,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from lambdas.assistant.conversation import Assistant
from lambdas.assistant.deadline import Deadline
from lambdas.assistant.events import AnswerComplete, Record
from lambdas.assistant.events import AnswerText as AnswerPiece
from lambdas.assistant.messages import UserMessage
from lambdas.assistant.tools import ToolCallFailed, ToolFailure, ToolResult
from lambdas.assistant.trace import Trace
from lambdas.assistant.turn import Turn
from tests.request_path.virtual_time import VirtualClock, elapsed_ms


@dataclass(frozen=True)
class Sleep:
    """Wait this long before the next event."""

    seconds: float


STALL = Sleep(10_000)


def says(*pieces, reason="stop", usage=(10, 5)):
    """A reply of text."""
    return [*[TextDelta(piece) for piece in pieces], Finished(reason), Usage(*usage)]


def calls(*named, usage=(10, 5)):
    """A reply of tool calls, each a (name, arguments as JSON text), streamed in two pieces."""
    events = []
    for index, (name, arguments) in enumerate(named):
        half = len(arguments) // 2
        events.append(ToolCallDelta(index, f"call-{name}-{index}", name, arguments[:half]))
        events.append(ToolCallDelta(index, "", "", arguments[half:]))
    return [*events, Finished("tool_calls"), Usage(*usage)]


def fails(failure=Failure.CONNECTION, *, after=()):
    """A reply that breaks off."""
    return [*after, failure]


@dataclass
class ScriptedBackend:
    """Plays, per pool, one script after another; the last one again when they run out."""

    scripts: dict = field(default_factory=dict)
    made: list = field(default_factory=list)
    ended: list = field(default_factory=list)

    async def stream(self, request, target):
        pool = target.pool.name
        number = sum(name == pool for name, _, _ in self.made)
        self.made.append((pool, target.replica.name, request))
        scripts = self.scripts[pool]
        try:
            for item in scripts[min(number, len(scripts) - 1)]:
                match item:
                    case Sleep(seconds):
                        await asyncio.sleep(seconds)
                    case Failure():
                        raise BackendFailure(item)
                    case _:
                        yield item
        finally:
            self.ended.append((pool, target.replica.name))

    @property
    def pools(self):
        return [pool for pool, _, _ in self.made]

    @property
    def requests(self):
        return [request for _, _, request in self.made]


@dataclass
class FakeTools:
    """Answers per tool with a text, a (text, ok), a failure, or any of them after a `Sleep`."""

    answers: dict = field(default_factory=lambda: defaultdict(lambda: '{"value": 1}'))
    made: list = field(default_factory=list)
    finished: list = field(default_factory=list)

    async def call(self, tool, arguments, context):
        self.made.append((tool.name, dict(arguments), context, elapsed_ms()))
        answer = self.answers[tool.name]
        if isinstance(answer, list):
            await asyncio.sleep(answer[0].seconds)
            answer = answer[1]
        self.finished.append(tool.name)
        if isinstance(answer, ToolFailure):
            raise ToolCallFailed(answer)
        text, ok = answer if isinstance(answer, tuple) else (answer, True)
        return ToolResult(text=text, ok=ok)

    @property
    def names(self):
        return [name for name, *_ in self.made]


def chat_request(text="What is the rate?", **changes):
    values: dict[str, Any] = {
        "messages": (UserMessage(text),),
        "stream": False,
        "include_usage": False,
        "max_tokens": None,
        "temperature": None,
        "label": "C1",
        "intent": None,
        "deadline_ms": None,
        "trace": False,
    }
    return ChatRequest(**(values | changes))


@dataclass
class Outcome:
    """What a turn gave: the pieces, the end, or the error after the pieces."""

    pieces: list
    complete: AnswerComplete | None
    error: Exception | None
    record: Record
    trace: Trace
    ended_ms: float

    @property
    def text(self):
        return "".join(self.pieces)


async def converse(assistant, request, *, tenant="analysts", deadline_ms=20_000, tracer=None):
    """Run one turn to its end."""
    clock = VirtualClock()
    start_ns = clock.monotonic_ns()
    trace = Trace(
        clock=clock,
        tracer=tracer or NoOpTracer(),
        root_name="turn",
        traceparent=None,
        start_ns=start_ns,
    )
    turn = Turn(
        request=request,
        tenant=tenant,
        deadline=Deadline.after(deadline_ms, clock=clock, since_ns=start_ns),
        trace=trace,
        record=Record(),
    )
    pieces, complete, error = [], None, None
    began_ms = elapsed_ms()
    try:
        async for event in assistant.converse(turn):
            match event:
                case AnswerPiece(text):
                    pieces.append(text)
                case AnswerComplete():
                    complete = event
    except Exception as raised:
        error = raised
    trace.end()
    return Outcome(pieces, complete, error, turn.record, trace, elapsed_ms() - began_ms)


def make_assistant(plan, backend, tools=None):
    """An assistant in virtual time whose pools all go to one scripted backend."""
    return Assistant(
        plan=plan,
        backends=dict.fromkeys(plan.pools, backend),
        tools=FakeTools() if tools is None else tools,
        clock=VirtualClock(),
    )
