"""verify.py alone, as a host runs it: standard library, no site-packages, from the package."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from model_packaging.package import verify
from model_packaging.package.manifest import read_manifest

SOURCE = Path(verify.__file__)


def run(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # -I: nothing of this environment; -S: not even site-packages.
    command = [sys.executable, "-I", "-S", "-B", str(package / "verify.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def told(package: Path, *arguments: str) -> dict[str, object]:
    ran = run(package, "--json", *arguments)
    found: dict[str, object] = json.loads(ran.stdout)
    assert ran.stderr == ""
    assert ran.returncode == (0 if found["ok"] else 5)
    return found


def failure(package: Path, *arguments: str) -> tuple[str, str]:
    error = told(package, *arguments)["error"]
    assert isinstance(error, dict)
    assert error["kind"] == "VerificationFailed"
    assert error["exit_code"] == 5
    assert error["fix"]
    return error["where"], error["rule"]


def test_the_package_carries_the_verifier_byte_for_byte(package):
    assert (package / "verify.py").read_bytes() == SOURCE.read_bytes()


def test_the_verifier_imports_the_standard_library_alone():
    tree = ast.parse(SOURCE.read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert imported <= set(sys.stdlib_module_names)


def test_a_good_package_is_told_with_its_digests(package):
    manifest = read_manifest(package)
    found = told(package)
    assert found["package_digest"] == manifest.package_digest
    assert found["weights_digest"] == manifest.weights_digest
    assert found["model_digest"] == manifest.model_digest
    assert (found["name"], found["version"], found["tensors"]) == ("analyst", "3", 24)


def test_people_read_one_line_per_fact_and_ok_at_the_end(package):
    ran = run(package)
    assert ran.returncode == 0
    assert ran.stdout.startswith("name            analyst\nversion         3\n")
    assert ran.stdout.endswith("\nok\n")


def test_another_directory_can_be_named(package, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(package, moved)
    assert told(package, str(moved))["ok"] is True


def test_sha256sum_comes_to_the_same_answer(package):
    command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(command, cwd=package, check=False).returncode == 0
    listed = (package / "SHA256SUMS").read_text().splitlines()
    names = [line.split("  ", 1)[1] for line in listed]
    on_disk = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert names == sorted(on_disk - {"SHA256SUMS"})


def test_the_expected_digest_is_compared(package):
    digest = read_manifest(package).package_digest
    assert told(package, "--expect", digest)["ok"] is True
    other = "sha256:" + "0" * 64
    where, rule = failure(package, "--expect", other)
    assert where == str(package)
    assert rule == f"has digest {digest}, expected {other}"


def test_the_weights_of_a_plain_directory_are_told(package, model):
    digest = read_manifest(package).weights_digest
    for directory in (model, package / "model"):
        assert told(package, str(directory), "--weights-only") == {
            "ok": True,
            "weights_digest": digest,
            "tensors": 24,
        }


def spoil_size(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def spoil_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "spoil", "rule"),
    [
        ("model/model.safetensors", spoil_byte, "has SHA-256 "),
        ("model/tokenizer.json", spoil_byte, "has SHA-256 "),
        ("golden.json", spoil_byte, "has SHA-256 "),
        ("verify.py", spoil_size, "has "),
        ("model/config.json", spoil_size, "has "),
        ("model/config.json", Path.unlink, "is missing: manifest.json lists it"),
        ("manifest.json", Path.unlink, "is missing"),
        ("SHA256SUMS", Path.unlink, "is missing"),
        ("SHA256SUMS", spoil_size, "does not say the same as manifest.json"),
        ("manifest.json", spoil_size, "is not canonical JSON, so its digest is not the package's"),
    ],
)
def test_a_spoilt_file_is_named(package, tmp_path, name, spoil, rule):
    runner = tmp_path / "runner"
    runner.mkdir()
    shutil.copy(SOURCE, runner / "verify.py")
    spoil(package / name)
    where, found = failure(runner, str(package))
    assert where == name
    assert found.startswith(rule)


def test_an_extra_file_is_refused_wherever_it_lies(package):
    (package / "model" / "extra.py").write_text("print()")
    assert failure(package) == ("model/extra.py", "is not in manifest.json")


def test_a_file_that_is_listed_in_the_sums_alone_is_refused(package):
    (package / "notes.txt").write_text("note")
    with (package / "SHA256SUMS").open("a") as sums:
        sums.write("0" * 64 + "  notes.txt\n")
    assert failure(package) == ("notes.txt", "is not in manifest.json")


def test_a_link_is_refused_even_to_the_same_bytes(package, tmp_path):
    path = package / "model" / "config.json"
    shutil.move(path, tmp_path / "config.json")
    path.symlink_to(tmp_path / "config.json")
    assert failure(package) == ("model/config.json", "is a symbolic link")


def test_a_linked_directory_is_refused(package, tmp_path):
    shutil.move(package / "model", tmp_path / "model")
    (package / "model").symlink_to(tmp_path / "model", target_is_directory=True)
    assert failure(package) == ("model", "is a symbolic link")


def test_a_pipe_is_refused_and_never_opened(package):
    os.mkfifo(package / "model" / "pipe")
    assert failure(package) == ("model/pipe", "is neither a file nor a directory")


def rewrite(package: Path, **changes: object) -> None:
    """Change the manifest and make the sums fit, as somebody who means harm would."""
    manifest = json.loads((package / "manifest.json").read_text()) | changes
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (package / "manifest.json").write_text(text + "\n")
    covered = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    covered["manifest.json"] = verify.hash_file(str(package / "manifest.json"))
    (package / "SHA256SUMS").write_bytes(verify.sums(covered))


@pytest.mark.parametrize("key", ["weights_digest", "model_digest"])
def test_a_digest_that_the_files_do_not_give_is_refused(package, key):
    wrong = "sha256:" + "0" * 64
    rewrite(package, **{key: wrong})
    where, rule = failure(package)
    assert where == "manifest.json"
    assert rule.startswith(f"says {key} {wrong}, the files give sha256:")


def test_another_schema_is_refused(package):
    rewrite(package, schema="perimeter.package/2")
    where, rule = failure(package)
    assert where == "manifest.json"
    assert rule == "is not of schema perimeter.package/1, the one that this verifier reads"


def test_a_path_that_leaves_the_package_is_never_followed(package, tmp_path):
    (tmp_path / "store" / "analyst" / "outside.txt").write_text("outside")
    manifest = json.loads((package / "manifest.json").read_text())
    entry = {"path": "../outside.txt", "size": 7, "sha256": "0" * 64, "role": "provenance"}
    rewrite(package, files=[entry, *manifest["files"]])
    assert failure(package) == ("../outside.txt", "is missing: manifest.json lists it")


def test_a_directory_that_is_not_there_is_a_failure_and_not_a_crash(package, tmp_path):
    where, rule = failure(package, str(tmp_path / "nowhere"))
    assert where == str(tmp_path / "nowhere")
    assert "No such file or directory" in rule


def test_a_wrong_option_is_wrong_usage(package):
    assert run(package, "--nonsense").returncode == 2
