"""The generated page and JSON Schema are the ones that the types make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model_packaging.deployment import reference
from model_packaging.deployment.catalogue import sections
from model_packaging.deployment.overrides import OVERRIDABLE


def test_what_is_committed_is_not_stale(repository: Path, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    assert reference.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_file_fails_the_check_and_names_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert reference.main([]) == 0
    reference.PAGE.write_text("old")
    capsys.readouterr()
    assert reference.main(["--check"]) == 1
    assert capsys.readouterr().err == (
        "docs/deployment-reference.md: is stale\n"
        "  fix: run `python -m model_packaging.deployment.reference`\n"
    )
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


def test_another_argument_is_a_usage_error(capsys):
    assert reference.main(["--chek"]) == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("section", sections(), ids=lambda section: section.__name__)
def test_the_page_describes_every_field(section):
    page = reference.render_page()
    for name, info in section.model_fields.items():
        assert f"| `{info.alias or name}` |" in page


def test_the_page_lists_the_arguments_that_may_differ():
    page = reference.render_page()
    assert all(f"| `{name}` |" in page for name in OVERRIDABLE)


def test_the_schema_refuses_unknown_fields_everywhere():
    schema = json.loads(reference.render_json_schema())
    parts = [schema, *schema["$defs"].values()]
    objects = [part for part in parts if part.get("type") == "object"]
    assert len(objects) == len(sections())
    assert all(part["additionalProperties"] is False for part in objects)
