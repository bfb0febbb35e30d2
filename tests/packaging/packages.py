"""Building a package from a directory, as `package-model build` does after its download."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from model_packaging.package.building import build_package
from model_packaging.package.manifest import Manifest
from model_packaging.package.store import Store
from model_packaging.progress import Silent
from model_packaging.sources.resolved import ResolvedSource

SOURCE = ResolvedSource(
    uri="models:/analyst@champion",
    name="analyst",
    version="3",
    artifact_location="mlflow-artifacts:/1/models/m-0a/artifacts",
    registered_model="analyst",
    registered_version="3",
    aliases_seen=("champion",),
    model_id="m-0a",
    run_id="0b",
    experiment_id="1",
    git_commit="c" * 40,
    training={"seed": "7"},
    metrics={"accuracy": 0.986},
)


@dataclass
class Notes:
    """Progress that remembers what it was told."""

    lines: list[str] = field(default_factory=list)
    counted: int = 0

    def note(self, text: str) -> None:
        self.lines.append(text)

    def begin(self, text: str, *, total_bytes: int) -> None:
        self.lines.append(f"{text}: {total_bytes}")

    def advance(self, count_bytes: int) -> None:
        self.counted += count_bytes


def build(model: Path, store: Store, source: ResolvedSource = SOURCE) -> Manifest:
    """Build without progress."""
    return build_package(source, model, store, Silent())


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below a directory; links are an error."""
    found: dict[str, bytes] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            assert not path.is_symlink(), path
            found[str(path.relative_to(directory))] = path.read_bytes()
    return found


def traces(store: Store) -> list[str]:
    """Everything in a store, folders included, but for its lock file."""
    if not store.root.exists():
        return []
    found = (str(path.relative_to(store.root)) for path in store.root.rglob("*"))
    return sorted(path for path in found if path != ".lock")
