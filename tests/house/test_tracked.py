from __future__ import annotations

import subprocess

import pytest

from tests.house.tracked import (
    LARGE,
    MAXIMUM_WEIGHTS_MIB,
    REGISTRY_HOSTS,
    machine_paths,
    problems,
    tracked_files,
)


def test_nothing_in_the_repository_names_a_registry_or_a_machine_or_is_too_large(repository):
    assert list(problems(repository)) == []


def test_the_repository_is_really_read(repository):
    assert {"Makefile", "pyproject.toml", ".ci/run", "tests/house/tracked.py"} <= set(
        tracked_files(repository)
    )


def test_the_weights_stay_small_enough_to_clone(repository):
    weights = [name for name in tracked_files(repository) if LARGE.fullmatch(name)]
    total = sum((repository / name).stat().st_size for name in weights)
    assert total < MAXIMUM_WEIGHTS_MIB * 2**20


@pytest.mark.parametrize("with_git", [True, False])
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (f"see https://{REGISTRY_HOSTS[0]}/simple", "names the host of a registry"),
        ("cache = " + "/".join(["", "root", ".cache"]), "names a folder of somebody's machine"),
        (
            "cd " + "/".join(["", "home", "somebody", "perimeter"]),
            "names a folder of somebody's machine",
        ),
        ("{machine}/wheels", "names a folder of somebody's machine"),
    ],
)
def test_a_planted_line_is_found(tmp_path, monkeypatch, with_git, line, rule):
    root = tmp_path / "checkout"
    root.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere/wheels")
    if with_git:
        subprocess.run(["git", "init", "--quiet", root], check=True)
    text = line.format(machine=machine_paths(root)[0])
    (root / "page.md").write_text(f"fine\n{text}\n")
    found = list(problems(root))
    assert [one.startswith("page.md:2: ") for one in found] == [True]
    assert rule in found[0]


def test_what_git_ignores_is_left_alone(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log").write_text("/".join(["", "root", "secret"]))
    assert list(problems(tmp_path)) == []


def test_a_large_file_and_a_long_module_are_found(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"\0" * (2049 * 1024))
    (tmp_path / "long.py").write_text("x = 1\n" * 401)
    assert list(problems(tmp_path)) == [
        "data.bin: 2049 KiB, and 2048 KiB is the limit",
        "long.py: 401 lines; is it one thing? (400 at most)",
    ]
