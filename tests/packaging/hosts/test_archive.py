"""Archives for hosts hold what a lock pins, and the same content gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest

from model_packaging.hosts import archive


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "a-1-py3-none-any.whl").write_bytes(b"wheel")
    digest = hashlib.sha256(b"wheel").hexdigest()
    (tmp_path / "engine.txt").write_text(f"a==1 \\\n    --hash=sha256:{digest}\n")
    return tmp_path


def command(wheelhouse: Path) -> list[str]:
    parts = (wheelhouse / "engine.txt", wheelhouse / "engine", wheelhouse / "out")
    return ["wheels", *map(str, parts)]


def test_wheels_are_archived_once_under_the_digest_of_their_lock(wheelhouse, capsys):
    assert archive.main(command(wheelhouse)) == 0
    said = json.loads(capsys.readouterr().out)
    lock = (wheelhouse / "engine.txt").read_bytes()
    assert said["key"] == hashlib.sha256(lock).hexdigest()[:16]
    with tarfile.open(said["path"]) as made:
        assert made.getnames() == ["a-1-py3-none-any.whl"]
    before = os.stat(said["path"]).st_mtime_ns
    assert archive.main(command(wheelhouse)) == 0
    assert os.stat(said["path"]).st_mtime_ns == before


def test_a_wheel_that_the_lock_does_not_pin_is_refused_and_nothing_is_left(wheelhouse, capsys):
    (wheelhouse / "engine" / "a-1-py3-none-any.whl").write_bytes(b"another")
    assert archive.main(command(wheelhouse)) == 5
    said = capsys.readouterr().err
    assert "a-1-py3-none-any.whl: has SHA-256 " in said
    assert said.endswith("  fix: remove it, or download it again\n")
    assert not (wheelhouse / "out").exists()


def test_a_wheelhouse_without_wheels_is_refused(wheelhouse, capsys):
    (wheelhouse / "engine" / "a-1-py3-none-any.whl").unlink()
    assert archive.main(command(wheelhouse)) == 5
    assert "holds no wheel" in capsys.readouterr().err


def test_code_is_named_by_its_content_and_holds_python_files_alone(tmp_path, capsys):
    code = tmp_path / "lambdas"
    (code / "__pycache__").mkdir(parents=True)
    (code / "__init__.py").write_text("")
    (code / "__pycache__" / "x.pyc").write_text("")
    said = []
    for text in ("one", "two", "one"):
        (code / "app.py").write_text(text)
        assert archive.main(["code", str(code), str(tmp_path / "out")]) == 0
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[2] != said[1]
    with tarfile.open(said[0]["path"]) as made:
        assert made.getnames() == ["lambdas/__init__.py", "lambdas/app.py"]


def test_another_command_line_is_a_usage_error(capsys):
    assert archive.main(["pack"]) == 2
    assert "archive wheels LOCK FOLDER OUT" in capsys.readouterr().err
