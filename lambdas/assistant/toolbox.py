"""The tools of a deployment: which calls are run, and how.

All calls of a round are judged before any is run, so a round with one bad call has no effect. Then
all run at once, each within its own limit and the deadline.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.trace import SpanKind

from lambdas.assistant import semantic_names as names
from lambdas.assistant import strict_json
from lambdas.assistant.deadline import Deadline
from lambdas.assistant.errors import AssistantError, ToolCallRefused, ToolFailed
from lambdas.assistant.messages import ToolCall, ToolMessage
from lambdas.assistant.plan import Intent, Plan, Tool
from lambdas.assistant.schemas import ArgumentSchema, ArgumentsInvalid
from lambdas.assistant.tool_text import tool_text
from lambdas.assistant.tools import CallContext, ToolCallFailed, ToolFailure, Tools
from lambdas.assistant.trace import Step, Trace

MAX_CALLS_PER_ROUND = 16


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that may be run."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call that was run. `text` is its result as the model reads it, None when there is none."""

    checked: CheckedCall
    ok: bool
    text: str | None
    duration_ms: float
    error: AssistantError | None = None

    def message(self) -> ToolMessage:
        """The result as a message. Only for a run that gave one."""
        if self.text is None:
            raise ValueError("this run gave no result")
        return ToolMessage(tool_call_id=self.checked.call.id, content=self.text)


@dataclass(frozen=True, slots=True)
class RoundContext:
    """What one round of calls belongs to."""

    tenant: str
    label: str
    deadline: Deadline
    trace: Trace
    parent: Step


class Toolbox:
    """Judges and runs calls. Raises `PlanInvalid` when a tool's schema cannot be compiled."""

    def __init__(self, *, plan: Plan, tools: Tools) -> None:
        self._plan = plan
        self._tools = tools
        self._schemas = {name: ArgumentSchema(tool) for name, tool in plan.tools.items()}

    def check(self, calls: Sequence[ToolCall], *, intent: Intent) -> tuple[CheckedCall, ...]:
        """The calls with their arguments read.

        Raises `ToolCallRefused` when any of them was not offered or breaks its schema; then none
        may be run.
        """
        if len(calls) > MAX_CALLS_PER_ROUND:
            raise ToolCallRefused(
                f"the model made {len(calls)} tool calls at once, and {MAX_CALLS_PER_ROUND} "
                "are the most; no tool was run",
                code="too_many_tool_calls",
            )
        return tuple(self._check(call, intent=intent) for call in calls)

    async def run(self, calls: Sequence[CheckedCall], context: RoundContext) -> tuple[ToolRun, ...]:
        """Run all calls at once and wait for all of them, in the order of the calls.

        A failed call is a run with an `error`; the others are not cut short by it, since one may
        have effects.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(call, context)) for call in calls]
        return tuple(task.result() for task in tasks)

    def _check(self, call: ToolCall, *, intent: Intent) -> CheckedCall:
        if call.name not in intent.tools:
            raise ToolCallRefused(
                f"the model called {call.name!r}, which the intent {intent.name!r} does not offer "
                f"(it offers {', '.join(intent.tools)}); no tool was run",
                code="tool_not_offered",
            )
        try:
            arguments = strict_json.parse(call.arguments)
            if not isinstance(arguments, dict):
                raise ArgumentsInvalid("arguments must be object")
            self._schemas[call.name].check(arguments)
        except (strict_json.JsonRefused, ArgumentsInvalid) as error:
            raise ToolCallRefused(
                f"the model called {call.name!r} with arguments that do not fit its schema: "
                f"{error}; no tool was run",
                code="tool_arguments_invalid",
            ) from None
        return CheckedCall(call=call, tool=self._plan.tools[call.name], arguments=arguments)

    async def _run(self, checked: CheckedCall, context: RoundContext) -> ToolRun:
        tool = checked.tool
        began_ns = context.trace.now_ns()
        ok = False
        text: str | None = None
        error: AssistantError | None = None
        with context.trace.step(
            names.TOOL,
            parent=context.parent,
            span_name=f"{names.OPERATION_TOOL} {tool.name}",
            kind=SpanKind.CLIENT,
            attributes={
                names.OPERATION: names.OPERATION_TOOL,
                names.TOOL_NAME: tool.name,
                names.DATA_LABEL: tool.label,
            },
        ) as step:
            try:
                ok, text = await self._result(checked, context, step)
                step.set(names.OUTCOME, "ok" if ok else "tool_said_no")
            except AssistantError as failed:
                error = failed
                step.set(names.OUTCOME, failed.code)
                step.set(names.ERROR_TYPE, failed.code)
        duration_ms = (context.trace.now_ns() - began_ns) / 1e6
        return ToolRun(checked=checked, ok=ok, text=text, duration_ms=duration_ms, error=error)

    async def _result(
        self, checked: CheckedCall, context: RoundContext, step: Step
    ) -> tuple[bool, str]:
        tool, deadline = checked.tool, context.deadline
        limit = deadline.within(tool.time_limit_ms)
        last = limit < tool.time_limit_ms / 1000
        try:
            async with asyncio.timeout(limit):
                result = await self._tools.call(
                    tool,
                    checked.arguments,
                    CallContext(
                        tenant=context.tenant,
                        label=context.label,
                        idempotency_key=f"{context.trace.trace_id}:{checked.call.id}",
                        trace_headers=step.headers(),
                    ),
                )
            return result.ok, tool_text(result.text)
        except ToolCallFailed as error:
            raise _failed(tool, error.failure) from None
        except strict_json.JsonRefused:
            raise _failed(tool, ToolFailure.NOT_JSON) from None
        except TimeoutError:
            if last:
                raise deadline.exceeded() from None
            raise _failed(tool, ToolFailure.TIME_LIMIT) from None


def _failed(tool: Tool, failure: ToolFailure) -> ToolFailed:
    reasons = {
        ToolFailure.UNREACHABLE: "could not be reached",
        ToolFailure.TIME_LIMIT: f"gave no result within its {tool.time_limit_ms} ms",
        ToolFailure.ERROR: "answered with a server error",
        ToolFailure.NOT_JSON: "answered with something that is not JSON",
        ToolFailure.TOO_LARGE: "answered with more than may be read",
    }
    return ToolFailed(
        f"the tool {tool.name!r} {reasons[failure]}; without its result there is no answer",
        code=failure.value,
    )
