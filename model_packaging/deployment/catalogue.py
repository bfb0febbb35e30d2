"""All sections and all fields of the deployment file, found by walking the types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel

from model_packaging.deployment.deployment import Deployment


@cache
def sections() -> tuple[type[BaseModel], ...]:
    """Every section once: the whole file first, a section before its parts, as declared."""
    found: dict[type[BaseModel], None] = {}

    def visit(section: type[BaseModel]) -> None:
        if section not in found:
            found[section] = None
            for part in parts_of(section):
                visit(part)

    visit(Deployment)
    return tuple(found)


def parts_of(section: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    """The sections directly inside `section`."""
    found: dict[type[BaseModel], None] = {}
    for info in section.model_fields.values():
        for part in sections_in(info.annotation):
            found[part] = None
    return tuple(found)


def sections_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections that a field's type mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from sections_in(inner)


@cache
def descriptions() -> dict[str, str | None]:
    """Description by field name; None where sections describe fields of one name differently."""
    found: dict[str, set[str]] = {}
    for section in sections():
        for name, info in section.model_fields.items():
            found.setdefault(info.alias or name, set()).add(info.description or "")
    return {name: texts.pop() if len(texts) == 1 else None for name, texts in sorted(found.items())}
