"""Put rendered files into a folder, in one step."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import ClassVar

from model_packaging.deployment.fields import DeploymentFields
from model_packaging.errors import PerimeterError
from model_packaging.render.rendering import Rendered


class FolderTaken(PerimeterError):
    """The folder to render into holds something else, which would be lost."""

    exit_code: ClassVar[int] = 2


def rendered_folder(deployment: DeploymentFields) -> Path:
    """Where a deployment is rendered to: beside its package store."""
    return Path(deployment.store).parent / "rendered" / deployment.name


def write_rendered(rendered: Rendered, folder: Path) -> Path:
    """Make `folder` hold exactly `rendered`, and return it.

    `folder` is a link that is moved from one complete set of files to the next, so a reader never
    finds a half-written one. Nothing is touched where the files are the same already. Raises
    `FolderTaken` where something else than an earlier rendering or an empty folder is there.
    """
    if folder.is_symlink() and _content(folder) == dict(rendered):
        return folder
    _check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    previous = folder.resolve() if folder.is_symlink() else None
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder)))
    try:
        fresh.chmod(0o755)
        for path, content in rendered.items():
            target = fresh / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        if folder.is_dir() and not folder.is_symlink():
            folder.rmdir()  # it is empty, and a link cannot replace a folder
        _point(folder, fresh)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    if previous is not None:
        shutil.rmtree(previous, ignore_errors=True)
    return folder


def _check_free(folder: Path) -> None:
    if folder.is_symlink():
        target = folder.resolve()
        ours = target.parent == folder.parent.resolve() and target.name.startswith(_prefix(folder))
    else:
        ours = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not ours:
        raise FolderTaken(
            where=str(folder),
            rule="holds something that was not rendered here",
            fix="name a folder that does not exist yet, or empty this one",
        )


def _prefix(folder: Path) -> str:
    return f".{folder.name}-"


def _point(link: Path, target: Path) -> None:
    temporary = target.with_name(f"{target.name}.link")
    temporary.symlink_to(target.name)
    os.replace(temporary, link)


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
