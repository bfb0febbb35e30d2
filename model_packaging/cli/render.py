"""`package-model render`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import click

from model_packaging.cli.options import (
    deployment_argument,
    lock_option,
    read_locked,
    store_option,
)
from model_packaging.cli.output import EXIT_CODES, Result, reporting
from model_packaging.progress import Progress
from model_packaging.render.rendering import render as rendered_files
from model_packaging.render.writing import rendered_folder, write_rendered


@click.command(epilog=EXIT_CODES, short_help="Write what each place reads.")
@deployment_argument
@store_option
@lock_option
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to replace (default: rendered/NAME beside the store).",
)
@reporting
def render(
    *,
    progress: Progress,
    deployment_path: Path,
    store_path: Path | None,
    lock_path: Path | None,
    folder: Path | None,
) -> Result:
    """Write what each place of DEPLOYMENT reads: engine arguments, request plans and prompts.

    A pure function of the deployment, its lock and the locked packages: the same three give the
    same bytes.
    """
    deployment, lock, manifests = read_locked(
        deployment_path, store_path=store_path, lock_path=lock_path
    )
    rendered = rendered_files(deployment, lock, manifests)
    if store_path is not None and folder is None:
        folder = store_path.parent / "rendered" / deployment.name
    written = write_rendered(rendered, folder or rendered_folder(deployment))
    progress.note(f"rendered {len(rendered)} files into {written}")
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in rendered.items()}
    return Result(
        text="\n".join(f"{written}/{path}" for path in rendered),
        data={"deployment": deployment.name, "directory": str(written), "files": digests},
    )
