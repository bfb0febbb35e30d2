"""The manifest is canonical, strict, and exactly what docs/package-format.md describes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from model_packaging import errors
from model_packaging.errors import VerificationFailed
from model_packaging.package.golden import read_calls
from model_packaging.package.manifest import Manifest, canonical_json, read_manifest
from model_packaging.package.verifying import verify_package
from model_packaging.sources.resolved import ResolvedSource
from tests.packaging.packages import build
from tests.packaging.tiny_model import as_logged, write_model


@pytest.fixture(scope="module")
def page(repository):
    return (repository / "docs" / "package-format.md").read_text()


def block(page: str, name: str) -> Any:
    found = re.search(rf"<!-- {name} -->\n```json\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def fields(model: type[BaseModel], prefix: str = "") -> set[str]:
    found = set()
    for name, field in model.model_fields.items():
        own = prefix + (field.alias or name)
        found.add(own)
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found |= fields(inner, f"{own}.")
    return found


def test_the_example_on_the_page_is_a_manifest(page):
    manifest = Manifest.from_bytes(canonical_json(block(page, "example manifest")))
    assert manifest.name == "analyst-small"
    assert manifest.model.parameters == 9712
    assert set(manifest.model_hashes) == {
        entry.path.removeprefix("model/")
        for entry in manifest.files
        if entry.path.startswith("model/")
    }


def test_the_example_on_the_page_is_what_a_build_gives(page, tmp_path, store):
    example = block(page, "example manifest")
    source = dict(example["source"], registered_version=example["source"]["version"])
    del source["flavor"], source["version"]
    resolved = ResolvedSource(
        **source | {"aliases_seen": tuple(source["aliases_seen"])},
        name=example["name"],
        version=example["version"],
        artifact_location="anywhere",
    )
    logged = as_logged(write_model(tmp_path / "model", shards=2), tmp_path / "logged")
    built = json.loads(build(logged, store, resolved).to_bytes())
    for manifest in (example, built):  # it changes with every word in verify.py
        manifest["files"] = [entry for entry in manifest["files"] if entry["role"] != "verifier"]
    assert built == example


def test_every_field_has_a_row_on_the_page(page):
    rows = re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", page, re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    expected = fields(Manifest) - {"tokenizer", "chat"}
    expected |= {f"files[].{name}" for name in ("path", "size", "sha256", "role")}
    assert expected <= described


def test_the_golden_calls_on_the_page_are_golden_calls(page):
    calls = read_calls(json.dumps(block(page, "example golden calls")).encode(), "page")
    assert calls[0].calls[0].name == "get_rate"


def test_the_exit_statuses_on_the_page_are_those_of_the_errors(page):
    rows = dict(re.findall(r"^\| (\d) \| .*?\(`(\w+)`\)", page, re.MULTILINE))
    expected = {
        str(kind.exit_code): kind.__name__
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.PerimeterError)
        and kind is not errors.PerimeterError
    }
    assert rows == expected
    assert set(rows) == set("34567")


def test_a_manifest_survives_being_written_and_read(package):
    manifest = read_manifest(package)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    assert (package / "manifest.json").read_bytes() == manifest.to_bytes()


def refusal(value: dict[str, Any]) -> str:
    with pytest.raises(VerificationFailed) as caught:
        Manifest.from_bytes(canonical_json(value))
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"schema": "perimeter.package/2"}, "is of schema 'perimeter.package/2', this version"),
        ({"extra": 1}, "extra is not as docs/package-format.md says: Extra inputs are not"),
        ({"name": "../up"}, "name is not as docs/package-format.md says"),
        ({"weights_digest": "md5:0"}, "weights_digest is not as docs/package-format.md says"),
        ({"source": {}}, "source.uri is not as docs/package-format.md says: Field required"),
    ],
)
def test_what_the_page_does_not_describe_is_refused(page, change, rule):
    assert refusal(block(page, "example manifest") | change).startswith(f"manifest.json: {rule}")


def test_files_must_be_sorted_and_unique(page):
    example = block(page, "example manifest")
    assert "files must be sorted by path" in refusal(example | {"files": example["files"][::-1]})
    twice = [example["files"][0], *example["files"]]
    assert "files must be sorted by path" in refusal(example | {"files": twice})


def test_another_spelling_of_the_same_manifest_is_refused(page):
    spaced = json.dumps(block(page, "example manifest")).encode()
    with pytest.raises(VerificationFailed, match="is not canonical JSON"):
        Manifest.from_bytes(spaced)


def test_a_directory_without_a_manifest_is_told_what_to_name(tmp_path):
    with pytest.raises(VerificationFailed) as caught:
        read_manifest(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/manifest.json: cannot be read (No such file or directory)\n"
        "  fix: name a package directory, such as .perimeter/packages/<name>/<version>"
    )


def test_verifying_names_the_file_in_its_place(package):
    (package / "golden.json").write_text("{}")
    with pytest.raises(VerificationFailed) as caught:
        verify_package(package)
    assert caught.value.where == str(package / "golden.json")
    assert caught.value.fix == "copy or download the package again from where it was built"
