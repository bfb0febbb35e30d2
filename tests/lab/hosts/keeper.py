"""Takes a lab down when the test run that made it is gone, however it went.

    python -m tests.lab.hosts.keeper <name> <directory>

Standard input says how the test run ended: with a line, the lab is down already; with nothing, the
run was killed or forgot it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.lab.hosts.records import Record, take_down


def main(name: str, directory: str) -> None:
    """Wait for the end of standard input, then do what is left to do."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if not sys.stdin.read():
        take_down(Record(name, Path(directory), kept=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
