"""A rendered folder is complete or it is the old one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from model_packaging.render.writing import FolderTaken, rendered_folder, write_rendered
from tests.packaging.deployment.builders import example

ONE = {"a.txt": b"1", "deep/b.txt": b"1"}
TWO = {"a.txt": b"2", "deep/b.txt": b"2"}


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_deployment_is_rendered_beside_its_store():
    assert rendered_folder(example("analyst")) == Path(".perimeter/rendered/analyst")


def test_the_folder_holds_exactly_what_was_rendered(tmp_path):
    folder = write_rendered(ONE, tmp_path / "rendered" / "demo")
    assert content(folder) == ONE
    write_rendered({"a.txt": b"3"}, folder)
    assert content(folder) == {"a.txt": b"3"}


def test_nothing_is_left_beside_the_folder(tmp_path):
    for rendered in (ONE, TWO, ONE):
        write_rendered(rendered, tmp_path / "demo")
    assert len(list(tmp_path.iterdir())) == 2  # the link and what it points to


def test_rendering_the_same_again_touches_nothing(tmp_path):
    folder = write_rendered(ONE, tmp_path / "demo")
    target, before = folder.resolve(), (folder / "a.txt").stat().st_mtime_ns
    write_rendered(ONE, folder)
    assert (folder.resolve(), (folder / "a.txt").stat().st_mtime_ns) == (target, before)


def test_a_file_that_was_edited_by_hand_is_written_again(tmp_path):
    folder = write_rendered(ONE, tmp_path / "demo")
    (folder / "a.txt").write_bytes(b"edited")
    write_rendered(ONE, folder)
    assert content(folder) == ONE


def test_a_failing_write_leaves_the_old_files_and_nothing_else(tmp_path, monkeypatch):
    folder = write_rendered(ONE, tmp_path / "demo")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_rendered(TWO, folder)
    monkeypatch.undo()
    assert content(folder) == ONE
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path != folder.resolve()
                and not path.is_symlink()]  # fmt: skip


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_something_else_in_the_way_is_never_replaced(tmp_path, kind):
    folder, precious = tmp_path / "demo", tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    if kind == "folder":
        precious.rename(folder)
        precious = folder
    elif kind == "file":
        folder.write_text("text")
    else:
        folder.symlink_to(precious)
    with pytest.raises(FolderTaken) as caught:
        write_rendered(ONE, folder)
    assert caught.value.rule == "holds something that was not rendered here"
    assert caught.value.exit_code == 2
    assert (precious / "thesis.txt").read_text() == "years of work"


def test_an_empty_folder_is_used(tmp_path):
    (tmp_path / "demo").mkdir()
    assert content(write_rendered(ONE, tmp_path / "demo")) == ONE


def test_a_reader_never_finds_a_file_missing(tmp_path):
    folder = write_rendered(ONE, tmp_path / "demo")
    done, missing = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            if not os.path.lexists(folder):
                missing.append(folder)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(200):
        write_rendered(TWO if number % 2 else ONE, folder)
    done.set()
    reader.join()
    assert missing == []
