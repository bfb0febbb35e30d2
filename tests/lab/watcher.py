"""Ends the lab's process groups when the process that started them is gone, however it went.

Run as a script by `tests.lab.processes`, once per test run. Standard input carries `+<group>` and
`-<group>` lines; its end means that the other side has exited or was killed. A parent-death signal
would not do: it reaches the direct child alone, and it is tied to the thread that started it, while
an engine's memory sits in its grandchildren.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

GRACE_SECONDS = 5.0


def send(groups: Iterable[int], signal_number: int) -> set[int]:
    """Signal every group; returns those that still had a process to receive it."""
    alive = set()
    for group in groups:
        try:
            os.killpg(group, signal_number)
        except ProcessLookupError:
            continue
        alive.add(group)
    return alive


def main() -> None:
    """Follow standard input to its end, then end what is still registered."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    deadline = time.monotonic() + GRACE_SECONDS
    alive = send(groups, signal.SIGTERM)
    while alive and time.monotonic() < deadline:
        time.sleep(0.05)
        alive = send(alive, 0)
    send(alive, signal.SIGKILL)


if __name__ == "__main__":
    main()
