"""What a command shows: one result on standard output, progress on standard error."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from model_packaging.errors import PerimeterError
from model_packaging.progress import Progress, Silent

# \b keeps click from joining the lines.
EXIT_CODES = """\b
Exit status:
  0  done
  1  an unexpected error
  2  wrong usage
  3  the deployment file is invalid
  4  the model may not become a package
  5  a package is not what its manifest says
  6  the registry cannot be read, or the model is unknown or moved
  7  the lock is missing or stale
"""
_EVERY_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a command found, for people and for programs."""

    text: str
    data: Mapping[str, Any]


def reporting(function: Callable[..., Result]) -> Callable[..., None]:
    """Make a click command of a function from `progress` and its options to a Result.

    Adds --json and --quiet, and turns a PerimeterError into a message and its exit status.
    """

    @click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
    @click.option("--quiet", is_flag=True, help="No progress on standard error.")
    @functools.wraps(function)
    def command(*, as_json: bool, quiet: bool, **options: Any) -> None:
        progress: Progress = Silent() if quiet else StderrProgress()
        try:
            result = function(progress=progress, **options)
        except PerimeterError as error:
            _end_line(progress)
            if as_json:
                click.echo(json.dumps({"error": error.as_dict()}, ensure_ascii=False))
            else:
                click.echo(f"error: {error}", err=True)
            sys.exit(error.exit_code)
        except Exception as error:
            _end_line(progress)
            if as_json:
                found = {"kind": type(error).__name__, "rule": str(error), "exit_code": 1}
                where = {"where": "package-model", "fix": "report it with the traceback"}
                click.echo(json.dumps({"error": {**found, **where}}, ensure_ascii=False))
            raise
        _end_line(progress)
        click.echo(json.dumps(result.data, ensure_ascii=False) if as_json else result.text)

    return command


class StderrProgress:
    """Progress for a person: one moving line on a terminal, a line now and then in a log."""

    def __init__(self) -> None:
        self._text = ""
        self._total = self._done = 0
        self._terminal = sys.stderr.isatty()
        self._shown = 0.0

    def note(self, text: str) -> None:
        """Print a line of its own."""
        self.end()
        click.echo(text, err=True)

    def begin(self, text: str, *, total_bytes: int) -> None:
        """Start counting up to `total_bytes`."""
        self.end()
        self._text, self._total, self._done = text, total_bytes, 0
        self._shown = time.monotonic()
        if not self._terminal:
            click.echo(f"{text} ({size(total_bytes)})", err=True)

    def advance(self, count_bytes: int) -> None:
        """Count, and show it when enough time has passed."""
        self._done += count_bytes
        now = time.monotonic()
        if now - self._shown >= (0.1 if self._terminal else _EVERY_SECONDS):
            self._shown = now
            self._show(end="" if self._terminal else "\n")

    def end(self) -> None:
        """Finish the line that is being counted on, if there is one."""
        if self._text and self._terminal:
            self._show(end="\n")
        self._text = ""

    def _show(self, *, end: str) -> None:
        done = f"{self._text}: {size(self._done)} of {size(self._total)}"
        start = "\r\x1b[K" if self._terminal else ""
        click.echo(start + done + end, err=True, nl=False)


def size(count_bytes: int) -> str:
    """Bytes as a person reads them, in powers of ten as disks are sold."""
    value = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def table(rows: Mapping[str, object], *, indent: str = "") -> str:
    """Lines of a name and a value, in two columns."""
    width = max(map(len, rows), default=0)
    return "\n".join(f"{indent}{name:{width}}  {value}" for name, value in rows.items())


def _end_line(progress: Progress) -> None:
    if isinstance(progress, StderrProgress):
        progress.end()
