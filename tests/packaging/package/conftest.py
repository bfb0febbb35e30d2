"""A model to package and a store to put it in."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_packaging.package.store import Store
from tests.packaging.packages import SOURCE, build
from tests.packaging.tiny_model import write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A fresh directory with a good model, to be spoilt at will."""
    return write_model(tmp_path / "incoming")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store that does not exist yet."""
    return Store(tmp_path / "store")


@pytest.fixture
def package(model: Path, store: Store) -> Path:
    """A published package of `model`."""
    build(model, store)
    return store.package_directory(name=SOURCE.name, version=SOURCE.version)
