"""Names are judged before anything is written under them."""

from __future__ import annotations

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.sources.names import check_names


def refusal(*paths: str) -> str:
    with pytest.raises(PackageRefused) as caught:
        check_names(paths)
    return str(caught.value)


def test_the_names_that_trainers_write_pass():
    check_names(
        [
            "MLmodel",
            "README.md",
            "components/tokenizer/tokenizer.json",
            "model/config.json",
            "model/model-00001-of-00002.safetensors",
            "model/caf\u00e9.json",
        ]
    )


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/etc/passwd", "/etc/passwd: is not a relative path with forward slashes"),
        ("C:/model.json", "C:/model.json: is not a relative path"),
        ("a\\b.json", "a\\\\b.json: is not a relative path"),
        ("../up.json", "../up.json: leaves its folder or is not written plainly"),
        ("a/../b.json", "a/../b.json: leaves its folder"),
        ("a//b.json", "a//b.json: leaves its folder"),
        ("./a.json", "./a.json: leaves its folder"),
        ("a/", "a/: leaves its folder"),
        ("", ": leaves its folder"),
        ("a\0b.json", "a\\x00b.json: holds control characters"),
        ("a\nb.json", "a\\nb.json: holds control characters"),
        ("a\u202eb.json", "a\\u202eb.json: holds control characters"),
        ("a\udcff.json", "a\\udcff.json: holds control characters"),
        ("a" * 256, "a" * 256 + ": is too long for a file system or an object key"),
        ("a/" * 600 + "b", "a/a/"),
    ],
)
def test_a_path_that_is_not_safe_to_write_is_refused(path, rule):
    assert refusal(path).startswith(rule)
    assert refusal(path).endswith("  fix: log the model again under plain names")


@pytest.mark.parametrize(
    ("paths", "rule"),
    [
        (("A.json", "a.json"), "a.json: differs from A.json by case or accents only"),
        (("Model/x.json", "model/y.json"), "model/y.json: differs from Model by case or accents"),
        (("e\u0301.json", "\u00e9.json"), "\u00e9.json: differs from e\u0301.json by case or acc"),
        (("stra\u00dfe.json", "STRASSE.json"), "stra\u00dfe.json: differs from STRASSE.json by"),
        (("model", "model/config.json"), "model: is both a file and a folder"),
    ],
)
def test_names_that_hide_one_another_are_refused(paths, rule):
    assert refusal(*paths).startswith(rule)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("pytorch_model.bin", "may be a pickle, and loading a pickle runs whatever it says"),
        ("model/training_args.BIN", "may be a pickle"),
        ("python_model.pkl", "may be a pickle"),
        ("weights.npz", "may be a pickle"),
        ("code/model.py", "is code; a package holds none"),
        ("kernel.so", "is code; a package holds none"),
        ("model.gguf", "holds weights in a format that cannot be checked tensor by tensor"),
    ],
)
def test_files_that_run_or_cannot_be_checked_are_refused(path, rule):
    assert refusal("config.json", path).startswith(f"{path}: {rule}")
