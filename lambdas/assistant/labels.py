"""Data labels: a total order in which unknown means highest."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelOrder:
    """Label names from the least to the most confidential, at least one.

    A name outside the order ranks with the highest: data of an unknown class is treated as the most
    confidential, and a pool whose own label were unknown would be trusted with nothing (`permits`
    compares by the order alone).
    """

    names: tuple[str, ...]

    @property
    def top(self) -> str:
        """The most confidential label."""
        return self.names[-1]

    def known(self, label: str) -> bool:
        """Whether the order has this label."""
        return label in self.names

    def normal(self, label: str) -> str:
        """The label itself, or the highest one for a name that is not known."""
        return label if self.known(label) else self.top

    def highest(self, labels: Iterable[str]) -> str:
        """The most confidential of `labels`; the lowest label of the order when there are none."""
        return max(
            (self.normal(label) for label in labels), key=self.names.index, default=self.names[0]
        )

    def permits(self, *, may_hold: str, label: str) -> bool:
        """Whether a holder trusted up to `may_hold` may see data of `label`."""
        if not self.known(may_hold):
            return False
        return self.names.index(self.normal(label)) <= self.names.index(may_hold)
