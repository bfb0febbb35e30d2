"""One absolute deadline for a whole request, and the budgets taken out of it."""

import time
from dataclasses import dataclass
from typing import Protocol

from lambdas.assistant.errors import DeadlineExceeded

NANOSECONDS_PER_MILLISECOND = 1_000_000


class Clock(Protocol):
    """Tells the time. Waiting is the event loop's matter."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that never go back, on the same scale as the running event loop's time."""
        ...

    def unix_ns(self) -> int:
        """Nanoseconds since 1970, for timestamps that leave the process."""
        ...


class SystemClock:
    """The machine's clocks."""

    def monotonic_ns(self) -> int:
        """See `Clock.monotonic_ns`."""
        return time.monotonic_ns()

    def unix_ns(self) -> int:
        """See `Clock.unix_ns`."""
        return time.time_ns()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time after which nothing of the request is started or waited for."""

    clock: Clock
    expires_ns: int
    total_ms: int

    @classmethod
    def after(cls, milliseconds: int, *, clock: Clock, since_ns: int) -> "Deadline":
        """The deadline `milliseconds` after `since_ns`, the moment the request arrived."""
        expires_ns = since_ns + milliseconds * NANOSECONDS_PER_MILLISECOND
        return cls(clock=clock, expires_ns=expires_ns, total_ms=milliseconds)

    def remaining_seconds(self) -> float:
        """Time left, never below zero."""
        return max(0.0, (self.expires_ns - self.clock.monotonic_ns()) / 1e9)

    def within(self, milliseconds: int) -> float:
        """Seconds that a step with this budget may take: no more than what is left."""
        return min(milliseconds / 1000, self.remaining_seconds())

    def check(self) -> None:
        """Raise `DeadlineExceeded` when no time is left, so that nothing is started in vain."""
        if self.remaining_seconds() <= 0:
            raise self.exceeded()

    def exceeded(self) -> DeadlineExceeded:
        """The error for this deadline."""
        return DeadlineExceeded(
            f"no answer within {self.total_ms} ms, the time for the whole request; "
            "a longer one can be asked for with metadata `perimeter.deadline_ms`"
        )
