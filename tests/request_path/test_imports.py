"""What the request path may import: arrows inside `lambdas`, and outside only what it declares."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAMBDAS = ROOT / "lambdas"
OUTSIDE = {
    "assistant": {"opentelemetry", "fastjsonschema"},
    "backends": {"httpx2"},
    "gateway": {"httpx2", "opentelemetry", "uvicorn"},
}
INSIDE = {
    "assistant": {"assistant"},
    "backends": {"assistant", "backends"},
    "gateway": {"assistant", "backends", "gateway"},
}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def modules(part):
    found = sorted((LAMBDAS / part).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("part", OUTSIDE)
def test_a_part_imports_its_declared_packages_and_the_parts_below_it(part):
    for path in modules(part):
        for name in imported(path):
            top, *rest = name.split(".")
            if top == "lambdas":
                assert rest[0] in INSIDE[part], f"{path.name} imports {name}"
            elif top not in sys.stdlib_module_names:
                assert top in OUTSIDE[part], f"{path.name} imports {name}"


def test_the_assistant_opens_no_socket_and_knows_no_exporter():
    never = ("http", "socket", "ssl", "urllib", "opentelemetry.sdk", "subprocess")
    for path in modules("assistant"):
        for name in imported(path):
            assert not name.startswith(never), f"{path.name} imports {name}"


def loaded_by(module):
    """Top-level packages that importing `module` loads, in a fresh process."""
    code = "import json, sys; import " + module + "; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_the_gateway_loads_no_cloud_sdk_and_no_heavy_library():
    loaded = loaded_by("lambdas.gateway.app")
    never = {"boto3", "botocore", "openai", "pydantic", "langchain", "litellm", "requests"}
    assert not never & {name.split(".")[0] for name in loaded}


def test_the_app_loads_neither_the_server_nor_the_span_sdk_before_they_are_needed():
    loaded = loaded_by("lambdas.gateway.app")
    assert "uvicorn" not in loaded
    assert "opentelemetry.sdk" not in loaded
