"""The lock: canonical, written in one step, and refused when it belongs to another state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model_packaging.deployment.lock import (
    DeploymentLock,
    LockedModel,
    lock_path_for,
    read_lock,
    write_lock,
)
from model_packaging.errors import LockStale
from tests.packaging.deployment.builders import load, small

DIGEST = "sha256:" + "ab" * 32


def locked(source: str = "models:/analyst@champion") -> LockedModel:
    return LockedModel(
        source_requested=source,
        registered_model="analyst",
        version="3",
        model_id="m-" + "0" * 32,
        run_id="1" * 32,
        package_name="analyst",
        package_version="3",
        package_digest=DIGEST,
        model_digest=DIGEST,
        weights_digest=DIGEST,
    )


def lock(**models: LockedModel) -> DeploymentLock:
    return DeploymentLock(schema="perimeter.lock/1", deployment="small", models=models)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return lock_path_for(tmp_path / "small.yaml")


def stale(path: Path) -> LockStale:
    with pytest.raises(LockStale) as caught:
        read_lock(path, load(small()))
    return caught.value


def test_the_lock_lies_beside_its_deployment():
    assert lock_path_for(Path("deployments/demo.yaml")) == Path("deployments/demo.lock.json")


def test_a_written_lock_is_read_back_equal(path):
    write_lock(path, lock(small=locked()))
    assert read_lock(path, load(small())) == lock(small=locked())


def test_the_bytes_are_canonical(path):
    write_lock(path, lock(small=locked()))
    text = path.read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    assert json.loads(text)["schema"] == "perimeter.lock/1"


def test_a_lock_can_be_read_by_others_and_leaves_nothing_beside_it(path):
    write_lock(path, lock(small=locked()))
    write_lock(path, lock(small=locked("models:/analyst/4")))
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_a_failing_write_leaves_the_old_lock(path, monkeypatch):
    write_lock(path, lock(small=locked()))
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_lock(path, lock(small=locked("models:/analyst/4")))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_lock_says_how_to_make_it(path):
    error = stale(path)
    assert error.rule == "there is no lock file: nothing was built yet"
    assert error.fix == f"run `package-model build {path.parent}/small.yaml`"
    assert error.exit_code == 7


@pytest.mark.parametrize(
    ("models", "where", "rule"),
    [
        (
            {"small": locked("models:/analyst@challenger")},
            "models.small.source_requested",
            "is `models:/analyst@challenger`, but the deployment asks for "
            "`models:/analyst@champion`",
        ),
        ({}, "models.small", "is not locked: it was added after the last build"),
        (
            {"small": locked(), "large": locked()},
            "models.large",
            "is locked, but the deployment no longer has it",
        ),
    ],
)
def test_a_lock_of_another_state_is_stale(path, models, where, rule):
    write_lock(path, lock(**models))
    error = stale(path)
    assert error.where == f"{path}: {where}"
    assert error.rule == rule
    assert error.fix == f"run `package-model build {path.parent}/small.yaml` again"


def test_a_lock_of_another_deployment_is_stale(path):
    other = lock(small=locked()).model_copy(update={"deployment": "other"})
    write_lock(path, other)
    assert stale(path).rule == "is `other`, but the deployment is `small`"


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "perimeter.lock/2"},
        {"extra": 1},
        {"models": {"small": {}}},
    ],
)
def test_a_lock_this_release_does_not_understand_is_stale(path, change):
    write_lock(path, lock(small=locked()))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert stale(path).fix.startswith("run `package-model build")


def test_a_lock_that_is_not_json_is_stale(path):
    path.write_text("{")
    assert stale(path).rule.startswith("the file: ")
