"""The roles' argument specifications and defaults are the ones that the types make."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from model_packaging.hosts import role_files
from model_packaging.hosts.role_variables import FROM_INVENTORY, READS, ROLES

ROLE = role_files.FOLDER / "vllm"


def test_what_is_committed_is_not_stale(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    assert role_files.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_file_fails_the_check_and_names_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert role_files.main([]) == 0
    (ROLE / "defaults" / "main.yml").write_text("old")
    capsys.readouterr()
    assert role_files.main(["--check"]) == 1
    assert capsys.readouterr().err == (
        "ansible/roles/vllm/defaults/main.yml: is stale\n"
        "  fix: run `python -m model_packaging.hosts.role_files`\n"
    )


def test_every_role_is_specified_and_every_specification_has_its_role(repository):
    assert {path.name for path in (repository / role_files.FOLDER).iterdir()} == set(ROLES)


def test_every_default_has_a_comment_and_is_the_one_of_the_specification():
    texts = role_files.role_files()
    for role in ROLES:
        specification = texts[role_files.FOLDER / role / "meta" / "argument_specs.yml"]
        options = yaml.safe_load(specification)["argument_specs"]["main"]["options"]
        stated = {name: one["default"] for name, one in options.items() if "default" in one}
        text = texts.get(role_files.FOLDER / role / "defaults" / "main.yml", "")
        assert (yaml.safe_load(text) or {}) == stated
        for name in stated:
            assert re.search(rf"^# .+\n{name}: ", text, re.MULTILINE)


def test_a_role_reads_of_the_inventory_exactly_what_it_specifies(repository: Path):
    for role in ROLES:
        folder = repository / role_files.FOLDER / role
        files = [*folder.glob("tasks/*"), *folder.glob("templates/*"), *folder.glob("handlers/*")]
        used = {
            name for file in files for name in re.findall(r"\bperimeter_[a-z_]+", file.read_text())
        }
        assert used == set(READS[role]), role
    assert {name for names in READS.values() for name in names} <= set(FROM_INVENTORY)
