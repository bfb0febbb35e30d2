"""`package-model verify`: one answer, and the status that goes with it."""

from __future__ import annotations

import pytest

from model_packaging.package.manifest import read_manifest
from model_packaging.package.store import Store
from tests.packaging.cli.conftest import run
from tests.packaging.packages import build
from tests.packaging.tiny_model import write_model


@pytest.fixture
def package(tmp_path):
    store = Store(tmp_path / "store")
    build(write_model(tmp_path / "model"), store)
    return store.package_directory(name="analyst", version="3")


def test_a_whole_package_is_told_with_its_digests(package):
    manifest = read_manifest(package)
    ran = run("verify", package)
    assert ran.status == 0
    assert ran.out.startswith("package         analyst 3\n")
    assert f"package_digest  {manifest.package_digest}\n" in ran.out
    assert f"weights_digest  {manifest.weights_digest}\n" in ran.out
    assert ran.out.endswith("\nok\n")
    assert ran.err.startswith(f"verifying {package} (")


def test_a_program_reads_one_object(package):
    manifest = read_manifest(package)
    ran = run("verify", package, "--json", "--quiet")
    assert ran.json == {
        "ok": True,
        "name": "analyst",
        "version": "3",
        "package_digest": manifest.package_digest,
        "model_digest": manifest.model_digest,
        "weights_digest": manifest.weights_digest,
        "files": 8,
        "bytes": sum(entry.size for entry in manifest.files),
    }
    assert ran.err == ""


def test_a_spoilt_package_ends_with_status_5_and_says_what_to_do(package):
    (package / "model" / "extra.json").write_text("{}")
    ran = run("verify", package)
    assert ran.status == 5
    assert ran.out == ""
    assert ran.err.endswith(
        f"error: {package}/model/extra.json: is not in manifest.json\n"
        "  fix: remove it: a package holds nothing else\n"
    )
    assert run("verify", package, "--json").json == {
        "error": {
            "kind": "VerificationFailed",
            "where": f"{package}/model/extra.json",
            "rule": "is not in manifest.json",
            "fix": "remove it: a package holds nothing else",
            "exit_code": 5,
        }
    }


def test_another_package_than_the_expected_one_is_refused(package):
    digest = read_manifest(package).package_digest
    assert run("verify", package, "--expect", digest).status == 0
    ran = run("verify", package, "--expect", "sha256:" + "0" * 64)
    assert ran.status == 5
    assert f"has digest {digest}, expected sha256:0000" in ran.err


def test_wrong_usage_ends_with_status_2():
    assert run("verify").status == 2
    assert run("verify", "a", "b").status == 2
