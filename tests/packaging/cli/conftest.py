"""Running the command, and deployments for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from model_packaging.cli import commands


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left: its exit status and both of its streams."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on standard output."""
        assert self.out.count("\n") == 1
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


def run(*arguments: str | Path) -> Ran:
    """Run `package-model` with arguments; an unexpected error of the command is the test's."""
    result = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(status=result.exit_code, out=result.stdout, err=result.stderr)


@pytest.fixture
def deployment(repository: Path, tmp_path: Path) -> Callable[..., Path]:
    """Writes the example deployment with other sources and a store of this test's own."""

    def write(*, small: str, large: str) -> Path:
        value = yaml.safe_load((repository / "deployments" / "demo.yaml").read_text())
        value["store"] = str(tmp_path / "work" / "packages")
        for key, source in (("small", small), ("large", large)):
            value["models"][key]["source"] = source
            value["models"][key]["serving"]["max_model_len"] = 512
            # YAML reads 0.30.0 as text, and a dumper leaves it plain.
            version = str(value["models"][key]["serving"]["engine"]["version"])
            value["models"][key]["serving"]["engine"]["version"] = version
        path = tmp_path / "demo.yaml"
        path.write_text(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))
        return path

    return write
