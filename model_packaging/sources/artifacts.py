"""The files at one location of an artifact store: listed, judged, then downloaded one by one."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model_packaging.errors import PackageRefused, RegistryError
from model_packaging.progress import Progress, Silent
from model_packaging.sources.layout import Layout, layout_of
from model_packaging.sources.names import check_kinds, check_paths

_POLL_SECONDS = 0.5


class Artifacts:
    """The files below one artifact location. Raises RegistryError for a store nobody can open."""

    def __init__(self, *, location: str, tracking_uri: str) -> None:
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        self.location = location
        try:
            self._repository: Any = get_artifact_repository(
                location, tracking_uri=tracking_uri, registry_uri=tracking_uri
            )
        except Exception as error:  # every store raises its own kinds
            raise self._unreachable("", error) from error

    def exists(self) -> bool:
        """Whether anything lies there. Raises RegistryError when the store cannot say."""
        return bool(self._entries(None))

    def sizes(self) -> dict[str, int | None]:
        """Relative path -> bytes of every file, None where a store does not tell.

        Raises RegistryError.
        """
        found: dict[str, int | None] = {}
        pending: list[str | None] = [None]
        while pending:
            for entry in self._entries(pending.pop()):
                path = str(entry.path)
                if entry.is_dir:
                    pending.append(path)
                else:
                    found[path] = entry.file_size
        return found

    def download(self, directory: Path, progress: Progress) -> None:
        """Bring every file into `directory`, which exists and is empty.

        Names and layout are judged first, and the disk must have room. A file that arrives with
        another size than the store lists is an error: a broken transfer does not always say so.
        Raises PackageRefused and RegistryError.
        """
        _, sizes = self.judge(directory)
        total = sum(size or 0 for size in sizes.values())
        free = shutil.disk_usage(directory).free
        if total > free:
            raise PackageRefused(
                where=str(directory),
                rule=f"has {free} bytes free, the model needs {total}",
                fix="free some space, or pass --store on a larger disk",
            )
        progress.begin(f"downloading {len(sizes)} files", total_bytes=total)
        for path, size in sorted(sizes.items()):
            self.fetch(path, directory, size, progress)

    def judge(self, directory: Path) -> tuple[Layout, dict[str, int | None]]:
        """Judge names and layout before anything else is downloaded; `directory` takes MLmodel.

        Returns the layout and the sizes. Raises PackageRefused and RegistryError.
        """
        sizes = self.sizes()
        if not sizes:
            raise RegistryError(
                where=self.location,
                rule="holds no files",
                fix="log the model again; the registry has its name but not its artifacts",
            )
        check_paths(sizes)
        layout = layout_of(sizes, mlmodel=self._mlmodel(directory, sizes))
        check_kinds(sizes)
        return layout, sizes

    def fetch(self, path: str, directory: Path, size: int | None, progress: Progress) -> Path:
        """Bring one file; `size` is what the store lists. Raises RegistryError."""
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with _Watcher(target, progress):
            try:
                self._repository.download_artifacts(path, str(directory))
            except Exception as error:  # every store raises its own kinds
                raise self._unreachable(path, error) from error
        arrived = target.stat().st_size
        if size not in (None, arrived):
            raise RegistryError(
                where=f"{self.location}/{path}",
                rule=f"arrived with {arrived} bytes, the store lists {size}",
                fix="run the build again; if it repeats, the upload was incomplete: log it again",
            )
        return target

    def _mlmodel(self, directory: Path, sizes: Mapping[str, int | None]) -> bytes | None:
        if "MLmodel" not in sizes:
            return None
        return self.fetch("MLmodel", directory, sizes["MLmodel"], Silent()).read_bytes()

    def _entries(self, path: str | None) -> list[Any]:
        try:
            return list(self._repository.list_artifacts(path))
        except Exception as error:  # every store raises its own kinds
            raise self._unreachable(path or "", error) from error

    def _unreachable(self, path: str, error: Exception) -> RegistryError:
        text = str(error).strip().split("\n", 1)[0][:300]
        return RegistryError(
            where=f"{self.location}/{path}".rstrip("/"),
            rule=f"cannot be read from the artifact store ({type(error).__name__}: {text})",
            fix="check that the store is up and that these credentials may read it",
        )


class _Watcher:
    """Tells progress how a file grows while somebody else writes it."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path, self._progress = path, progress
        self._done = threading.Event()
        self._seen = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            self._look()

    def _look(self) -> None:
        try:
            size = self._path.stat().st_size
        except OSError:
            return
        if size > self._seen:
            self._progress.advance(size - self._seen)
            self._seen = size
