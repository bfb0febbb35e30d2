from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.environments import cache_root, ensure
from tests.lab.errors import EnvironmentUnavailable, LabError

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11) and shutil.which("python3.11") is None,
    reason="the lab's environments need Python 3.11, and this machine has none",
)
SMALL_PACKAGE = "iniconfig"


@pytest.fixture
def requirements(tmp_path, monkeypatch, repository) -> Path:
    """A folder with one small lock, and a cache of its own."""
    monkeypatch.setenv("PERIMETER_CACHE", str(tmp_path / "cache"))
    text = (repository / "requirements" / "dev.txt").read_text()
    block = re.search(rf"^{SMALL_PACKAGE}==.*\n(?:    .*\n)+", text, re.MULTILINE)
    assert block, f"{SMALL_PACKAGE} is no longer locked"
    (tmp_path / "small.txt").write_text(block.group())
    return tmp_path


def test_an_environment_is_built_from_its_lock_and_then_found_again(requirements, capfd):
    python = ensure("small", requirements=requirements)
    subprocess.run([python, "-c", f"import {SMALL_PACKAGE}"], check=True)
    assert list(python.parent.parent.glob(f"lib/**/{SMALL_PACKAGE}/__pycache__/*.pyc"))
    assert "lab: small environment: installing 1 packages into" in capfd.readouterr().err

    started = time.monotonic()
    assert ensure("small", requirements=requirements) == python
    assert time.monotonic() - started < 0.1
    assert capfd.readouterr().err == ""


def test_a_changed_lock_makes_another_environment(requirements):
    first = ensure("small", requirements=requirements)
    with (requirements / "small.txt").open("a") as lock:
        lock.write("# changed\n")
    assert ensure("small", requirements=requirements) != first


def test_an_interrupted_build_is_started_anew(requirements):
    python = ensure("small", requirements=requirements)
    folder = python.parent.parent
    (folder / ".complete").unlink()
    (folder / "leftover").touch()
    assert ensure("small", requirements=requirements) == python
    assert not (folder / "leftover").exists()


def test_two_runs_that_need_the_same_environment_build_it_once(requirements, repository):
    code = (
        "import sys; from pathlib import Path; from tests.lab.environments import ensure\n"
        f"ensure('small', requirements=Path({str(requirements)!r}))"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=repository, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = "".join(run.communicate()[1] for run in runs)
    assert [run.returncode for run in runs] == [0, 0], said
    assert said.count("installing 1 packages") == 1


def test_a_wheel_that_is_not_what_the_lock_says_is_refused(requirements):
    lock = requirements / "small.txt"
    lock.write_text(re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, lock.read_text()))
    with pytest.raises(LabError, match=r"small environment: installing failed\n  fix: .*"):
        ensure("small", requirements=requirements)
    assert not list(cache_root().glob("environments/*/.complete"))


def test_a_missing_torch_wheel_is_reported_with_how_to_name_its_source(requirements, monkeypatch):
    monkeypatch.setenv("ENGINE_WHEELS", str(requirements))
    lock = requirements / "small.txt"
    lock.write_text(f"torch==2.13.0+cpu --hash=sha256:{'0' * 64}\n")
    with pytest.raises(
        EnvironmentUnavailable,
        match=r"small environment: the CPU build of torch was not found; it is not on the default "
        r"package index\n  fix: set ENGINE_WHEELS to a folder of wheels, or to a page",
    ):
        ensure("small", requirements=requirements)
