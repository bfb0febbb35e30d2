"""Turning what the verifier says about files into the error of whoever asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from model_packaging.errors import PackageRefused
from model_packaging.package.verify import Broken, strict_json


@contextmanager
def refusing() -> Iterator[None]:
    """Inside, a rule broken by files that came in is a PackageRefused."""
    try:
        yield
    except Broken as broken:
        refused = PackageRefused(where=broken.where, rule=broken.rule, fix=broken.fix)
        raise refused from broken


def read_object(raw: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object that came in. Raises PackageRefused."""
    with refusing():
        value = strict_json(raw, where)
    if not isinstance(value, dict):
        fix = "save the model again with save_pretrained"
        raise PackageRefused(where=where, rule="is not a JSON object", fix=fix)
    return value
