"""Write each role's argument specification and defaults from its type, or check them.

python -m model_packaging.hosts.role_files            writes them below ansible/roles
python -m model_packaging.hosts.role_files --check    exits 1 where one is stale

Ansible wants both: a default in the specification documents a value and sets none.
"""

from __future__ import annotations

import json
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from model_packaging.deployment.section import Section
from model_packaging.hosts.role_variables import FROM_INVENTORY, READS, ROLES

COMMAND = "python -m model_packaging.hosts.role_files"
FOLDER = Path("ansible/roles")
_HEADER = (
    f"---\n# Written by `{COMMAND}` from model_packaging/hosts/role_variables.py; do not edit.\n"
)
_TYPES = {str: "str", int: "int", bool: "bool"}


class _IndentedLists(yaml.SafeDumper):
    """PyYAML leaves the items of a list below its key where they are; ansible-lint does not."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def role_files() -> Mapping[Path, str]:
    """Path below the repository -> text, for every role."""
    found: dict[Path, str] = {}
    for role, variables in ROLES.items():
        found[FOLDER / role / "meta" / "argument_specs.yml"] = _specification(role, variables)
        if any(not info.is_required() for info in variables.model_fields.values()):
            found[FOLDER / role / "defaults" / "main.yml"] = _defaults(variables)
    return types.MappingProxyType(found)


def _specification(role: str, variables: type[Section]) -> str:
    options: dict[str, Any] = {}
    for name, info in variables.model_fields.items():
        value = {"required": True} if info.is_required() else {"default": _default(info)}
        options[name] = {"description": info.description, **_type(info.annotation), **value}
    for name in READS[role]:
        kind, description = FROM_INVENTORY[name]
        options[name] = {"description": description, "type": kind, "required": True}
    main = {
        "short_description": " ".join((variables.__doc__ or "").split()),
        "options": options,
    }
    body = yaml.dump(
        {"argument_specs": {"main": main}},
        Dumper=_IndentedLists,
        sort_keys=False,
        allow_unicode=True,
        width=96,
    )
    return _HEADER + body


def _defaults(variables: type[Section]) -> str:
    return _HEADER + "".join(_commented(variables))


def _commented(variables: type[Section]) -> Iterator[str]:
    for name, info in variables.model_fields.items():
        if info.is_required():
            continue
        for line in textwrap.wrap(info.description or "", 96):
            yield f"# {line}\n"
        yield f"{name}: {json.dumps(_default(info), ensure_ascii=False)}\n"


def _default(info: FieldInfo) -> Any:
    value = info.default
    return list(value) if isinstance(value, tuple) else value


def _type(annotation: Any) -> dict[str, str]:
    """An annotation in the words of an argument specification."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _type(get_args(annotation)[0])
    if origin is tuple:
        return {"type": "list", "elements": _type(get_args(annotation)[0])["type"]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "dict"}
    return {"type": _TYPES[annotation]}


def main(arguments: list[str]) -> int:
    """Write the files below the working directory, or check them. Returns the exit status."""
    if arguments not in ([], ["--check"]):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    stale = {
        path: text
        for path, text in role_files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        if arguments:
            print(f"{path}: is stale\n  fix: run `{COMMAND}`", file=sys.stderr)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}", file=sys.stderr)
    return 1 if arguments and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
