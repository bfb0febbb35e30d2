"""What the assistant asks of a tool's transport: the seam that HTTP and Lambda tools implement."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lambdas.assistant.plan import Tool


@dataclass(frozen=True, slots=True)
class CallContext:
    """What travels with a call beside its arguments.

    `idempotency_key` is the same for the same call of the same request, so a tool with side effects
    can tell a repetition.
    """

    tenant: str
    label: str
    idempotency_key: str
    trace_headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered: strict JSON text, and whether it calls it a success."""

    text: str
    ok: bool


class ToolFailure(StrEnum):
    """Why a call gave no result."""

    UNREACHABLE = "tool_unreachable"
    TIME_LIMIT = "tool_time_limit"
    ERROR = "tool_error"
    NOT_JSON = "tool_result_not_json"
    TOO_LARGE = "tool_result_too_large"


class ToolCallFailed(Exception):
    """A call that gave no result. It carries no content."""

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class Tools(Protocol):
    """Runs calls. A call is made once: what fails is not repeated here."""

    async def call(
        self, tool: Tool, arguments: Mapping[str, object], context: CallContext
    ) -> ToolResult:
        """The tool's answer.

        Raises `ToolCallFailed` and nothing else. The time limit is the caller's.
        """
        ...
