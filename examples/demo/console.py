"""Progress on the terminal: numbered stages with their time, and indented facts below them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Console:
    """Counts stages; ``total`` is announced with each, so that a reader knows how much is left."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.monotonic()

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Announce a stage, and its time when it ends."""
        self.done += 1
        began = time.monotonic()
        print(f"\n[{self.done}/{self.total}] {title}", flush=True)
        yield
        now = time.monotonic()
        print(f"      ({now - began:.1f} s, {now - self.began:.0f} s since the start)", flush=True)

    @staticmethod
    def fact(name: str, value: object) -> None:
        """Print one line of a stage."""
        print(f"      {name:<22} {value}", flush=True)

    @staticmethod
    def text(value: str) -> None:
        """Print a block, indented as a stage's facts are."""
        for line in value.rstrip("\n").splitlines():
            print(f"      {line}", flush=True)

    @staticmethod
    def fail(message: str) -> None:
        """Print what went wrong on stderr."""
        print(f"\ndemo: {message}", file=sys.stderr, flush=True)
