"""An event loop whose clock jumps to the next timer: seconds of stalling cost nothing."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
START_SECONDS = 1_000.0
UNIX_NS = 1_800_000_000_000_000_000


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop):
        super().__init__()
        self._loop = loop

    def select(self, timeout=None):
        events = super().select(0)
        if not events and timeout is None:
            raise RuntimeError("every task waits for something that never happens")
        if not events and timeout > 0:
            self._loop.now += timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Virtual time begins at 1,000 s."""

    def __init__(self):
        self.now = START_SECONDS
        super().__init__(_JumpingSelector(self))

    def time(self):
        return self.now


class VirtualClock:
    """A `Clock` that shows the running loop's time."""

    def monotonic_ns(self) -> int:
        try:
            return round(asyncio.get_running_loop().time() * 1e9)
        except RuntimeError:
            return round(START_SECONDS * 1e9)

    def unix_ns(self) -> int:
        return UNIX_NS + self.monotonic_ns() - round(START_SECONDS * 1e9)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def elapsed_ms() -> float:
    """Virtual milliseconds since the loop began."""
    return (asyncio.get_running_loop().time() - START_SECONDS) * 1000
