"""The command `package-model`.

    package-model build deployments/demo.yaml     registry -> packages in the store, and the lock
    package-model verify PACKAGE                   is this package whole?
    package-model inspect TARGET                   what is this package, model directory or address?
    package-model render deployments/demo.yaml    deployment + lock + packages -> what places read
    package-model explain deployments/demo.yaml   who may hold what, and what runs where

Each command prints text, or with --json exactly one JSON object; progress goes to standard error.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

import click

from model_packaging.cli.build import build
from model_packaging.cli.explain import explain
from model_packaging.cli.inspect import inspect
from model_packaging.cli.output import EXIT_CODES
from model_packaging.cli.render import render
from model_packaging.cli.verify import verify


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Make one verified package of an MLflow model, and what each place reads of it."""


for _command in (build, verify, inspect, render, explain):
    commands.add_command(_command)


def main() -> None:
    """The entry point; ends the process with one of the documented exit statuses."""
    # A stop from outside then cleans up as every other error does.
    signal.signal(signal.SIGTERM, _stop)
    commands(prog_name="package-model")


def _stop(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
