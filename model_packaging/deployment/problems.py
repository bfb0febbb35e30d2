"""What a rule says when it is broken: the field, the rule, the fix.

Pydantic turns a ValueError raised in a validator into one entry of its own error and keeps the
exception, so `Broken` can carry several problems from one validator to `loading`, which words all
of them for the reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule.

    `where` is a field path, relative to the section whose validator found it.
    """

    where: str
    rule: str
    fix: str


class Broken(ValueError):
    """Raised inside validators only; it never leaves `loading`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.where}: {p.rule}" for p in self.problems))


def refuse(where: str, *, rule: str, fix: str) -> Broken:
    """A `Broken` with one problem, to be raised by a field's own validator."""
    return Broken([Problem(where, rule, fix)])


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise `Broken` with all of `problems`, in their order; return when there are none."""
    found = tuple(problems)
    if found:
        raise Broken(found)
