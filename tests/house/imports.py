"""Every import of a source tree, read from its syntax: nothing is executed or resolved.

A linter that resolves names would take our `ansible` folder for ansible-core, and find nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED = {".venv", ".perimeter", ".git", "node_modules", "__pycache__", "build", "dist"}


@dataclass(frozen=True, kw_only=True)
class Import:
    """One name that a module imports.

    `lazy` is true inside a function or under TYPE_CHECKING: such an import costs nothing, and makes
    no cycle, when the module is loaded.
    """

    path: str
    line: int
    importer: str
    imported: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}"


def source_files(root: Path, *folders: str) -> list[Path]:
    """The Python files under `folders` of `root` (all of `root` without any), sorted."""
    starts = [root / folder for folder in folders] or [root]
    found = {path for start in starts for path in start.rglob("*.py")}
    return sorted(path for path in found if not SKIPPED & set(path.relative_to(root).parts))


def module_name(root: Path, path: Path) -> str:
    """`lambdas.gateway` for <root>/lambdas/gateway/__init__.py."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(root: Path, path: Path) -> Iterator[Import]:
    """The imports of one file, `from a import b` as `a.b`; also dynamic ones of a literal name."""
    importer = module_name(root, path)
    package = importer.split(".") if path.name == "__init__.py" else importer.split(".")[:-1]

    def visit(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
        for name in _names(node, package):
            yield Import(
                path=str(path.relative_to(root)),
                line=getattr(node, "lineno", 0),
                importer=importer,
                imported=name,
                lazy=lazy,
            )
        inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, lazy=lazy or inner or guarded)

    yield from visit(ast.parse(path.read_text(), str(path)), lazy=False)


def _names(node: ast.AST, package: list[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield from (f"{module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in {"import_module", "__import__"} and isinstance(node.args[0].value, str):
            yield node.args[0].value
