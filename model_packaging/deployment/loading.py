"""Read a deployment file, or say everything that is wrong with it: field, line, rule and fix."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from model_packaging.deployment.catalogue import descriptions
from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.problems import Broken, Problem
from model_packaging.deployment.strict_yaml import Document, Location, YamlRefused, parse
from model_packaging.errors import DeploymentInvalid

REFERENCE = "docs/deployment-reference.md"


def load_deployment(path: Path) -> Deployment:
    """The deployment in `path`.

    Raises `DeploymentInvalid`; its `where` is the path of the first wrong field followed by file
    and line, and its `fix` lists every further problem.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DeploymentInvalid(
            where=str(path),
            rule="there is no such deployment file",
            fix="give the path of one, for example deployments/demo.yaml",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DeploymentInvalid(
            where=str(path), rule=f"cannot be read: {error}", fix="give a readable UTF-8 text file"
        ) from None
    return parse_deployment(text, name=str(path))


def parse_deployment(text: str, *, name: str) -> Deployment:
    """The deployment in `text`; `name` stands for the file in messages.

    Raises `DeploymentInvalid`.
    """
    try:
        document = parse(text)
    except YamlRefused as error:
        where = name if error.line is None else f"{name} line {error.line}"
        raise DeploymentInvalid(where=where, rule=error.rule, fix=error.fix) from None
    if not isinstance(document.value, Mapping):
        raise DeploymentInvalid(
            where=name,
            rule="holds no sections",
            fix=f"start from deployments/demo.yaml; {REFERENCE} describes every field",
        )
    try:
        # By way of JSON: from Python values, strict mode takes no text for an enumeration.
        return Deployment.model_validate_json(json.dumps(document.value))
    except ValidationError as error:
        raise _invalid(error, document, name) from None


def _invalid(error: ValidationError, document: Document, name: str) -> DeploymentInvalid:
    located = list(_problems(error, document.value))
    sentences = [(_where(location, document, name), problem) for location, problem in located]
    where, first = sentences[0]
    also = "".join(f"\nalso {w}: {p.rule}\n  fix: {p.fix}" for w, p in sentences[1:])
    return DeploymentInvalid(where=where, rule=first.rule, fix=first.fix + also)


def _where(location: Location, document: Document, name: str) -> str:
    line = document.line_of(location)
    position = name if line is None else f"{name} line {line}"
    field = ".".join(map(str, location))
    return f"{field} ({position})" if field else name


def _problems(error: ValidationError, data: Any) -> Iterator[tuple[Location, Problem]]:
    for entry in error.errors(include_url=False):
        location = _field(entry["loc"], data)
        cause = entry.get("ctx", {}).get("error")
        if isinstance(cause, Broken):
            for problem in cause.problems:
                inner = tuple(problem.where.split(".")) if problem.where else ()
                yield _with_indexes((*location, *inner)), problem
        else:
            about_key = bool(entry["loc"]) and entry["loc"][-1] == "[key]"
            yield location, _worded("key" if about_key else entry["type"], entry["msg"], location)


def _field(location: Location, data: Any) -> Location:
    """`location` without the tags of unions that pydantic puts between its parts."""
    found: list[str | int] = []
    for position, part in enumerate(location):
        if part == "[key]":
            break
        last = position == len(location) - 1
        is_tag = (
            isinstance(data, Mapping)
            and part not in data
            and (data.get("kind") == part or not last)
        )
        if is_tag or (isinstance(part, str) and not isinstance(data, Mapping)):
            continue
        found.append(part)
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None
    return tuple(found)


def _with_indexes(location: Location) -> Location:
    return tuple(int(p) if isinstance(p, str) and p.isdigit() else p for p in location)


def _worded(kind: str, message: str, location: Location) -> Problem:
    last = str(location[-1]) if location else ""
    see = f"{REFERENCE} describes it"
    if kind == "key":
        return Problem(
            "", rule=f"is not a name: {message[0].lower()}{message[1:]}", fix="rename it"
        )
    if kind == "missing":
        return Problem("", rule="is required and missing", fix=f"add it; {see}")
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(last, descriptions(), n=1)
        hint = f"did you mean `{close[0]}`? Otherwise remove it" if close else "remove it"
        return Problem(
            "", rule="is not a field of this section", fix=f"{hint}; {REFERENCE} lists the fields"
        )
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return Problem("", rule=f"has no known `kind`: {message[0].lower()}{message[1:]}", fix=see)
    advice = (
        f"it is: {text[0].lower()}{text[1:]}" if (text := descriptions().get(last)) else f"{see}."
    )
    quoting = " Text that looks like a number needs quotes." if kind == "string_type" else ""
    return Problem("", rule=f"{message[0].lower()}{message[1:]}", fix=f"{advice}{quoting}")
