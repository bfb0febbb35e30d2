"""The commands of a release pipeline, run as its users run them: `register` in the training
environment, then `package-model`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DEPLOYMENT = Path("deployments/demo.yaml")
_PACKAGE_MODEL = Path(sys.executable).with_name("package-model")


class CommandFailed(Exception):
    """A command ended with another exit code than 0; the message holds its error."""


def _run(
    argv: list[str], *, environment: dict[str, str] | None = None, log: Path | None = None
) -> str:
    """Return a command's standard output; what it says on the way goes to `log`, or is shown."""
    with open(log, "wb") if log else nullcontext() as errors:
        done = subprocess.run(
            argv,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        shown = " ".join([Path(argv[0]).name, *argv[1:]])
        said = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log else done.stdout
        raise CommandFailed(f"`{shown}` ended with {done.returncode}\n{said.strip()}")
    return done.stdout


def register_models(training_python: Path, tracking_uri: str, *, log: Path) -> list[dict[str, Any]]:
    """Log both example models to MLflow and return one record per registered version."""
    quiet = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    out = _run(
        [
            str(training_python),
            "-W",
            "ignore",
            "-m",
            "examples.analyst_model.register",
            "--tracking-uri",
            tracking_uri,
        ],
        environment={**quiet, "PYTHONPATH": str(ROOT)},
        log=log,
    )
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def package_model(command: str, *arguments: str, tracking_uri: str = "") -> dict[str, Any]:
    """Run one ``package-model`` command with ``--json`` and return its report."""
    environment = {"MLFLOW_TRACKING_URI": tracking_uri} if tracking_uri else {}
    report: dict[str, Any] = json.loads(
        _run([str(_PACKAGE_MODEL), command, *arguments, "--json"], environment=environment)
    )
    return report


def served_digest(package: Path) -> str:
    """Return the weights digest of the directory that the engine serves, computed from its files by
    the package's own verifier with nothing but Python's library."""
    verifier, served = str(package / "verify.py"), str(package / "model")
    report = json.loads(_run([sys.executable, "-I", verifier, served, "--weights-only", "--json"]))
    return str(report["weights_digest"])
