"""The store: a package is complete or absent, whatever happens to the build."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from model_packaging.package.store import Store
from model_packaging.package.verifying import verify_package
from tests.packaging.packages import build, traces

HANGING_BUILD = """
import sys, time
from dataclasses import replace
from pathlib import Path
from model_packaging.package.building import build_package
from model_packaging.package.store import Store
from model_packaging.progress import Silent
from tests.packaging.packages import SOURCE

def hang(_source):
    print("everything but the rename is done", flush=True)
    time.sleep(600)

build_package(SOURCE, Path(sys.argv[1]), Store(Path(sys.argv[2])), Silent(), confirm=hang)
"""


def hanging(model: Path, store: Store, repository: Path) -> subprocess.Popen[str]:
    """A build in a process of its own that has staged everything and published nothing."""
    command = [sys.executable, "-c", HANGING_BUILD, str(model), str(store.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=repository)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("everything but")
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_staging_folder_is_gone_afterwards_whatever_happens(store):
    with store.staging() as stage:
        (stage / "file").write_text("x")
    with contextlib.suppress(KeyboardInterrupt), store.staging() as stage:
        (stage / "file").write_text("x")
        raise KeyboardInterrupt
    assert traces(store) == []


def test_a_killed_build_publishes_nothing_and_the_next_one_cleans_up(model, store, repository):
    process = hanging(model, store, repository)
    end(process)
    left = traces(store)
    assert left
    assert all(path.startswith(".staging") for path in left)
    build(model, store)
    assert not (store.root / ".staging").exists()
    verify_package(store.package_directory(name="analyst", version="3"))


def test_a_running_build_is_left_alone(model, store, repository):
    process = hanging(model, store, repository)
    try:
        before = [path for path in traces(store) if path.startswith(".staging")]
        build(model, store)
        after = [path for path in traces(store) if path.startswith(".staging")]
        assert after == before
    finally:
        end(process)


def test_a_terminated_command_cleans_up_itself(model, store, repository):
    program = "from model_packaging.cli import _stop; import signal\n"
    program += "signal.signal(signal.SIGTERM, _stop)\n" + HANGING_BUILD
    command = [sys.executable, "-c", program, str(model), str(store.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=repository)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert traces(store) == []


def test_publishing_waits_for_whoever_holds_the_lock(model, store, repository):
    store.root.mkdir(parents=True)
    with open(store.root / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-c", HANGING_BUILD.replace("confirm=hang", "confirm=None")]
        process = subprocess.Popen([*command, str(model), str(store.root)], cwd=repository)
        time.sleep(1.5)
        assert process.poll() is None
        assert traces(store) == []
    assert process.wait(timeout=60) == 0
    verify_package(store.package_directory(name="analyst", version="3"))


def test_a_rename_that_fails_leaves_no_empty_folder(model, store, monkeypatch):
    rename = os.rename

    def full(source: object, target: object) -> None:
        if str(target).endswith("analyst/3"):
            raise OSError(28, "No space left on device")
        rename(str(source), str(target))

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        build(model, store)
    assert traces(store) == []


def test_a_file_system_without_hard_links_only_costs_space(model, store, monkeypatch):
    def unsupported(_source: object, _target: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    build(model, store)
    verify_package(store.package_directory(name="analyst", version="3"))
