"""Running the tools that hosts are made with, and saying what they do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab.errors import LabError


def run(
    argv: Sequence[str | Path],
    *,
    where: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    timeout_seconds: float = 600.0,
) -> str:
    """Run a tool of this machine to its end; returns what it wrote to standard output.

    `env` is added to the caller's environment, because package tools need its proxies. Raises
    LabError with the tool's own words when it fails or takes longer than `timeout_seconds`.
    """
    command = [str(argument) for argument in argv]
    try:
        done = subprocess.run(
            command,
            input=stdin,
            env=os.environ | {"LC_ALL": "C.UTF-8"} | dict(env or {}),
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LabError(
            where=where,
            rule=f"`{' '.join(command)}` took longer than {timeout_seconds:.0f} s",
            fix="run it by hand to see what it waits for",
        ) from None
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise LabError(
            where=where,
            rule=f"`{' '.join(command)}` ended with exit code {done.returncode}",
            fix=f"read what it said:\n{said}",
        )
    return done.stdout


class Progress:
    """Lines on standard error for work that takes a while, with the seconds it has taken."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()

    def say(self, text: str) -> None:
        """Write one line."""
        seconds = time.monotonic() - self._started
        print(f"lab: {self._what}: {text} [{seconds:.0f} s]", file=sys.stderr, flush=True)
