"""`package-model explain`."""

from __future__ import annotations

from pathlib import Path

import click

from model_packaging.cli.options import deployment_argument, lock_option
from model_packaging.cli.output import EXIT_CODES, Result, reporting
from model_packaging.deployment.loading import load_deployment
from model_packaging.deployment.lock import lock_path_for, read_lock
from model_packaging.progress import Progress
from model_packaging.render.explaining import explain as explanation_of


@click.command(epilog=EXIT_CODES, short_help="Who may hold what, and what runs where.")
@deployment_argument
@lock_option
@reporting
def explain(*, progress: Progress, deployment_path: Path, lock_path: Path | None) -> Result:
    """Say who may hold what in DEPLOYMENT, which pools an intent may reach, and what runs where.

    Needs no package: before the first build it explains the deployment alone.
    """
    deployment = load_deployment(deployment_path)
    path = lock_path or lock_path_for(deployment_path)
    lock = None
    if path.exists() or lock_path is not None:
        lock = read_lock(path, deployment)
    else:
        progress.note(f"nothing was built yet: there is no {path}")
    explanation = explanation_of(deployment, lock)
    return Result(text=explanation.text, data=explanation.data)
