"""The conversation: label, pools, rounds of tool calls, and the answer by the tier named for it.

While tools are being picked nothing is handed on, so that a text which turns out to be a preamble
to a call is never taken for the answer. If the picking model makes no call, its text is the answer.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, aclosing

from lambdas.assistant import semantic_names as names
from lambdas.assistant.attempts import Attempts
from lambdas.assistant.backend import Finished, ModelBackend, TextDelta, Usage
from lambdas.assistant.deadline import Clock
from lambdas.assistant.events import AnswerEvent, AnswerText
from lambdas.assistant.messages import AssistantMessage
from lambdas.assistant.plan import Plan
from lambdas.assistant.reply import Reply
from lambdas.assistant.routing import allowed_pools, choose_intent, request_label, tool_labels
from lambdas.assistant.toolbox import RoundContext, Toolbox
from lambdas.assistant.tools import Tools
from lambdas.assistant.turn import Turn, TurnState, not_empty


class Assistant:
    """Answers requests by one plan. One per process; it holds no state of a conversation.

    `backends` has one entry per pool of the plan. Raises `PlanInvalid` when a tool's schema cannot
    be compiled.
    """

    def __init__(
        self, *, plan: Plan, backends: Mapping[str, ModelBackend], tools: Tools, clock: Clock
    ) -> None:
        self.plan = plan
        self.clock = clock
        self._attempts = Attempts(backends=backends, clock=clock)
        self._toolbox = Toolbox(plan=plan, tools=tools)

    async def converse(self, turn: Turn) -> AsyncGenerator[AnswerEvent, None]:
        """The answer in pieces (one piece unless the request streams), then `AnswerComplete`.

        Raises an `AssistantError`, before the first piece unless the answer breaks off. Closing the
        generator ends every call that is under way.
        """
        state = self._begin(turn)
        direct = await self._use_tools(state) if state.intent.tools else None
        if direct is not None:
            text = not_empty(direct.text)
            with state.streaming(parent=None):
                yield AnswerText(text)
            yield state.complete(text, direct.finish_reason)
            return
        write = self._stream if turn.request.stream else self._write
        async with aclosing(write(state)) as events:
            async for event in events:
                yield event

    def _begin(self, turn: Turn) -> TurnState:
        trace, plan = turn.trace, self.plan
        with trace.step(names.LABEL) as step:
            label = request_label(plan, turn.request, tenant=turn.tenant)
            step.set(names.DATA_LABEL, label)
            self._set_label(turn, label)
        with trace.step(names.POOLS, attributes={names.DATA_LABEL: label}):
            allowed = allowed_pools(plan, label)
        with trace.step(names.ROUTE) as step:
            intent = choose_intent(plan, turn.request)
            tier = intent.tier if intent.tools else intent.answer.tier
            turn.record.intent = intent.name
            trace.set(names.INTENT, intent.name)
            step.set(names.INTENT, intent.name)
            step.set(names.TIER, tier)
            allowed.of_tier(plan, tier)
        with trace.step(names.PROMPT, attributes={names.PROMPT_SHA256: intent.prefix.sha256}):
            messages = list(turn.request.messages)
        return TurnState(turn=turn, plan=plan, intent=intent, allowed=allowed, messages=messages)

    async def _use_tools(self, state: TurnState) -> Reply | None:
        """Rounds of calls until the model makes none.

        The reply that is already the answer, or None.
        """
        intent = state.intent
        for number in range(intent.max_tool_rounds):
            reply = await self._attempts.complete(state.picking())
            state.usage = state.usage.plus(reply.usage)
            if not reply.tool_calls:
                own = number == 0 or intent.tier == intent.answer.tier
                return reply if own else None
            await self._run_tools(state, reply, last=number + 1 == intent.max_tool_rounds)
        return None

    async def _run_tools(self, state: TurnState, reply: Reply, *, last: bool) -> None:
        turn, plan, intent = state.turn, self.plan, state.intent
        turn.deadline.check()
        called = [call.name for call in reply.tool_calls]
        with turn.trace.step(names.TOOLS, attributes={names.CALL_COUNT: len(called)}) as step:
            checked = self._toolbox.check(reply.tool_calls, intent=intent)
            label = plan.labels.highest([state.allowed.label, *tool_labels(plan, called)])
            # Refused before any tool runs: a result that no model may read is not worth its side
            # effects.
            allowed = allowed_pools(plan, label)
            for tier in (intent.answer.tier,) if last else (intent.answer.tier, intent.tier):
                allowed.of_tier(plan, tier)
            runs = await self._toolbox.run(
                checked,
                RoundContext(
                    tenant=turn.tenant,
                    label=label,
                    deadline=turn.deadline,
                    trace=turn.trace,
                    parent=step,
                ),
            )
            turn.record.tool_runs.extend(runs)
            for run in runs:
                if run.error is not None:
                    raise run.error
        state.add(AssistantMessage(content=reply.text, tool_calls=reply.tool_calls))
        for run in runs:
            state.add(run.message())
        with turn.trace.step(names.POOLS, attributes={names.DATA_LABEL: label}):
            state.allowed = allowed
            self._set_label(turn, label)

    async def _write(self, state: TurnState) -> AsyncGenerator[AnswerEvent, None]:
        """The answer in one piece; until it is complete, another replica may still write it."""
        tier = state.intent.answer.tier
        with state.turn.trace.step(names.ANSWER, attributes={names.TIER: tier}) as step:
            reply = await self._attempts.complete(state.writing(parent=step))
            state.usage = state.usage.plus(reply.usage)
            text = not_empty(reply.text)
        yield AnswerText(text)
        yield state.complete(text, reply.finish_reason)

    async def _stream(self, state: TurnState) -> AsyncGenerator[AnswerEvent, None]:
        """The answer as it is written; the first piece commits to the model that writes it."""
        pieces: list[str] = []
        finish_reason = "stop"
        tier = state.intent.answer.tier
        with (
            state.turn.trace.step(names.ANSWER, attributes={names.TIER: tier}) as step,
            ExitStack() as from_first_piece,
        ):
            call = state.writing(parent=step)
            async with aclosing(self._attempts.stream(call)) as events:
                async for event in events:
                    match event:
                        case TextDelta(text):
                            if not pieces:
                                from_first_piece.enter_context(state.streaming(parent=step))
                            pieces.append(text)
                            yield AnswerText(text)
                        case Finished(reason):
                            finish_reason = reason
                        case Usage():
                            state.usage = state.usage.plus(event)
            text = not_empty("".join(pieces))
        yield state.complete(text, finish_reason)

    def _set_label(self, turn: Turn, label: str) -> None:
        turn.record.label = label
        turn.trace.set(names.DATA_LABEL, label)
