from __future__ import annotations

import shutil

import pytest

from tests.conftest import skipped_where_unavailable
from tests.lab.environments import cache_root
from tests.lab.errors import LabError
from tests.lab.hosts import base
from tests.lab.hosts.base import Base, ensure_base
from tests.lab.hosts.commands import run

DEBIAN = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n"


def test_the_root_comes_from_the_sources_of_this_machine_that_hold_the_suite(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "APT", tmp_path)
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "debian.sources").write_text(DEBIAN + "Components: main\n")
    (parts / "tool.list").write_text("deb https://tool.example tool-bookworm main\n")
    (parts / "other.list").write_text("deb https://other.example bookworm stable\n")
    assert base._sources_of_this_machine("bookworm") == [parts / "debian.sources"]
    assert base._sources_of_this_machine("trixie") == []
    (tmp_path / "sources.list").write_text("deb http://mirror.example/debian trixie main\n")
    assert base._sources_of_this_machine("trixie") == [tmp_path / "sources.list"]


def test_another_suite_or_package_list_is_another_root():
    keys = {Base().key, Base(suite="trixie").key, Base(packages=("systemd",)).key}
    assert len(keys) == 3
    assert Base().key == Base().key


@pytest.mark.hosts
def test_a_root_is_restored_from_its_tarball_without_being_made_again(monkeypatch, tmp_path):
    with skipped_where_unavailable():
        ensure_base(Base())
    tarball = Base().directory / "root.tar.zst"
    monkeypatch.setenv("PERIMETER_CACHE", str(tmp_path))
    Base().directory.mkdir(parents=True)
    shutil.copy(tarball, Base().directory)
    monkeypatch.setattr(base, "_make", lambda *_: pytest.fail("it was made again"))
    ensure_base(Base())
    assert Base().root.is_relative_to(cache_root())
    assert (Base().root / "usr/lib/systemd/systemd").exists()
    assert (Base().root / "etc/machine-id").read_text() == ""
    assert not list((Base().root / "etc/ssh").glob("ssh_host_*"))
    shutil.rmtree(tmp_path)


def test_a_tool_that_fails_is_reported_with_its_words():
    with pytest.raises(LabError) as caught:
        run(["sh", "-c", "echo no space left >&2; exit 9"], where="the root")
    assert str(caught.value) == (
        "the root: `sh -c echo no space left >&2; exit 9` ended with exit code 9\n"
        "  fix: read what it said:\nno space left"
    )


def test_a_tool_that_hangs_is_reported_with_the_time_it_had():
    with pytest.raises(LabError, match="took longer than 0 s"):
        run(["sleep", "5"], where="the root", timeout_seconds=0.1)
