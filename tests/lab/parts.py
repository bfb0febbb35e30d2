"""What every server of the lab has in common: start, wait until it answers, stop."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import ClassVar, Self

from tests.lab.ports import LOOPBACK, free_port
from tests.lab.processes import ManagedProcess


class Part(ABC):
    """A server on a loopback port. As a context manager it answers when entered.

    `start` and `wait_ready` are apart so that several parts can load at the same time. With
    `outlives_parent` only `stop`, or a kill of the group `process.group`, ends it.
    """

    ready_within_seconds: ClassVar[float]

    def __init__(self, *, port: int | None, outlives_parent: bool) -> None:
        self.port = port or free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.ready_seconds: float | None = None
        self._outlives_parent = outlives_parent
        self._started = 0.0
        self._process: ManagedProcess | None = None

    @property
    def process(self) -> ManagedProcess:
        """The running or ended program; raises RuntimeError before `start`."""
        if self._process is None:
            raise RuntimeError(f"{type(self).__name__} has not been started")
        return self._process

    @abstractmethod
    def _launch(self) -> ManagedProcess: ...

    def start(self) -> None:
        """Start without waiting; on first use this installs the part's environment."""
        self._process = self._launch()
        self._started = time.monotonic()

    def wait_ready(self) -> None:
        """Return once /health answers 200 and set `ready_seconds`, counted from the start.

        Raises LabError with the end of the log when the program ends first or takes longer than
        `ready_within_seconds`.
        """
        self.process.wait_http(f"{self.url}/health", self.ready_within_seconds)
        if self.ready_seconds is None:
            self.ready_seconds = time.monotonic() - self._started

    def stop(self) -> None:
        """End it, if it was started."""
        if self._process is not None:
            self._process.stop()

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
