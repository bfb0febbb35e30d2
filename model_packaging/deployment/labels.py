"""Confidentiality labels, from C1 (public) to C4 (secret)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Label(StrEnum):
    """A class of confidentiality.

    The order is the order of declaration and only ever compared through `rank`.
    """

    C1 = "C1"
    C2 = "C2"
    C3 = "C3"
    C4 = "C4"

    @property
    def rank(self) -> int:
        """Position in the order, 0 for the least confidential."""
        return tuple(Label).index(self)

    def may_be_held_up_to(self, ceiling: Label) -> bool:
        """Whether something trusted up to `ceiling` may see data of this label."""
        return self.rank <= ceiling.rank


ORDER = tuple(label.value for label in Label)

OUTSIDE_CEILING = Label.C2
"""The highest label that may leave the company's own hosts, whatever a deployment says."""


def highest(labels: Iterable[Label]) -> Label | None:
    """The most confidential of `labels`, or None when there are none."""
    return max(labels, key=lambda label: label.rank, default=None)


def lowest(*labels: Label) -> Label:
    """The least confidential of `labels`."""
    return min(labels, key=lambda label: label.rank)
