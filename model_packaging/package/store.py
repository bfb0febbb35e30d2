"""The store: packages by name and version, their files also by content.

    <store>/<name>/<version>/     a package, complete or absent
    <store>/blobs/sha256/<hex>    the same files by digest, as hard links
    <store>/.staging/             work in progress of running builds; of no interest to readers
    <store>/.lock                 held while the two above change

A package appears by one rename of a finished directory on the same file system. Whatever a killed
build leaves lies in .staging, and the next build removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from model_packaging.errors import PackageRefused, VerificationFailed
from model_packaging.package.manifest import Manifest, read_manifest
from model_packaging.package.verify import hash_file

_DIRECTORY_MODE = 0o755
_FILE_MODE = 0o644
_MARK = ".lock"


class Store:
    """A directory of packages; it is created by the first build."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._staging = root / ".staging"
        self._blobs = root / "blobs" / "sha256"

    def package_directory(self, *, name: str, version: str) -> Path:
        """Where a package lies or would lie."""
        return self.root / name / version

    def existing(self, *, name: str, version: str) -> Manifest | None:
        """The manifest of a package in the store. Raises VerificationFailed if it is damaged."""
        directory = self.package_directory(name=name, version=version)
        if not directory.is_dir():
            return None
        try:
            return read_manifest(directory)
        except VerificationFailed as damaged:
            fix = f"remove {directory} and build again"
            raise VerificationFailed(where=damaged.where, rule=damaged.rule, fix=fix) from damaged

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """An empty directory on the store's file system, gone afterwards whatever happens."""
        self.root.mkdir(parents=True, exist_ok=True)
        directory = self._staging / secrets.token_hex(8)
        with contextlib.ExitStack() as held:
            with self._locked():
                self._staging.mkdir(exist_ok=True)
                self._remove_abandoned()
                mark = held.enter_context(open(_mark(directory), "w"))
                fcntl.flock(mark, fcntl.LOCK_EX)
                directory.mkdir(mode=0o700)
            try:
                yield directory
            finally:
                with self._locked():
                    self._remove(directory)

    def is_staged(self, path: Path) -> bool:
        """Whether a path lies in this store's staging, so that nobody else writes to it."""
        return path.resolve().is_relative_to(self._staging.resolve())

    def publish(self, staged: Path, manifest: Manifest) -> Manifest:
        """Make a finished package directory part of the store; returns what now stands there.

        The same content again changes nothing, and the first manifest stands. Raises
        PackageRefused when the version is there with other content.
        """
        target = self.package_directory(name=manifest.name, version=manifest.version)
        with self._locked():
            present = self.existing(name=manifest.name, version=manifest.version)
            if present is not None:
                _refuse_other_content(target, present, manifest)
                return present
            self._share(staged, manifest)
            _settle(staged)
            target.parent.mkdir(exist_ok=True)
            target.parent.chmod(_DIRECTORY_MODE)
            try:
                os.rename(staged, target)
            except OSError:
                with contextlib.suppress(OSError):  # not empty: other versions are there
                    target.parent.rmdir()
                raise
            _flush(target.parent)
            self._link_blobs(target, manifest)
        return manifest

    def _share(self, staged: Path, manifest: Manifest) -> None:
        """Put links in the place of files whose content the store already has."""
        for entry in manifest.files:
            path, blob = staged / entry.path, self._blobs / entry.sha256
            if not blob.is_file() or hash_file(str(blob)) != entry.sha256:
                continue
            link = path.with_name(path.name + ".link")
            os.link(blob, link)
            os.rename(link, path)

    def _link_blobs(self, target: Path, manifest: Manifest) -> None:
        # The package is published by now. Without a blob only the sharing of space is lost, as it
        # is on a file system that has no hard links.
        with contextlib.suppress(OSError):
            self._blobs.mkdir(parents=True, exist_ok=True)
            for entry in manifest.files:
                with contextlib.suppress(FileExistsError):
                    os.link(target / entry.path, self._blobs / entry.sha256)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self.root / ".lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _remove_abandoned(self) -> None:
        for path in self._staging.glob(f"*{_MARK}"):
            with open(path) as mark:
                try:
                    fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue  # its build is running
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()

    def _remove(self, directory: Path) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        _mark(directory).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # other builds are running
            self._staging.rmdir()


def _mark(directory: Path) -> Path:
    """The file that a running build keeps locked beside its directory."""
    return directory.with_suffix(_MARK)


def _refuse_other_content(target: Path, present: Manifest, manifest: Manifest) -> None:
    def content(of: Manifest) -> dict[str, str]:
        return {entry.path: entry.sha256 for entry in of.files if entry.role != "verifier"}

    before, now = content(present), content(manifest)
    changed = sorted(path for path in before.keys() | now if before.get(path) != now.get(path))
    if changed:
        raise PackageRefused(
            where=str(target),
            rule=f"is in the store with other content ({', '.join(changed)})",
            fix="register the model as a new version; a version never changes its content",
        )


def _settle(directory: Path) -> None:
    """Give every file its final mode and see it to the disk."""
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            path = Path(folder, name)
            path.chmod(_FILE_MODE)
            _flush(path)
        Path(folder).chmod(_DIRECTORY_MODE)
        _flush(Path(folder))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
