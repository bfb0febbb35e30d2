"""What every command shows: help with the statuses, progress, errors."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from model_packaging import errors
from model_packaging.cli import commands
from model_packaging.cli.output import Result, StderrProgress, reporting, size, table
from tests.packaging.cli.conftest import run


def test_the_help_names_every_command_and_every_exit_status():
    text = run("--help").out
    for name in ("build", "verify", "inspect", "render", "explain"):
        assert f"\n  {name} " in text
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    for code in {0, 2, *(kind.exit_code for kind in kinds if hasattr(kind, "exit_code"))}:
        assert f"\n    {code}  " in text


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_command_has_json_quiet_and_the_exit_statuses(name):
    text = run(name, "--help").out
    assert "--json" in text
    assert "--quiet" in text
    assert "    7  the lock is missing or stale" in text


def test_an_unexpected_error_is_one_object_too_and_keeps_its_traceback():
    @click.command()
    @reporting
    def broken(*, progress: object) -> Result:
        raise ZeroDivisionError("by zero")

    ran = CliRunner().invoke(broken, ["--json"])
    assert ran.exit_code == 1
    assert isinstance(ran.exception, ZeroDivisionError)
    assert json.loads(ran.stdout)["error"] == {
        "kind": "ZeroDivisionError",
        "where": "package-model",
        "rule": "by zero",
        "fix": "report it with the traceback",
        "exit_code": 1,
    }


def test_progress_in_a_log_is_a_line_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    progress = StderrProgress()
    progress.begin("hashing", total_bytes=4_000_000)
    for _ in range(4):
        now[0] += 2.0
        progress.advance(1_000_000)
    progress.note("done")
    assert capsys.readouterr().err == "hashing (4.0 MB)\nhashing: 3.0 MB of 4.0 MB\ndone\n"


def test_progress_on_a_terminal_is_one_line_that_moves(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = StderrProgress()
    progress.begin("hashing", total_bytes=10)
    progress.advance(10)
    progress.note("done")
    assert capsys.readouterr().err == "\r\x1b[Khashing: 10 B of 10 B\ndone\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (3_744_688, "3.7 MB"), (16e9, "16.0 GB")],
)
def test_sizes_are_read_easily(count, text):
    assert size(int(count)) == text


def test_a_table_has_two_columns():
    assert table({"a": 1, "long": "x"}, indent="  ") == "  a     1\n  long  x"
