"""How long work tells the person in front of it that it is moving."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told what happens, in order; never decides anything."""

    def note(self, text: str) -> None:
        """Say one finished or started step, or something the reader should know."""

    def begin(self, text: str, *, total_bytes: int) -> None:
        """Start work that is measured in bytes; it ends with the next note or beginning."""

    def advance(self, count_bytes: int) -> None:
        """Count bytes towards the piece of work that was begun last."""


class Silent:
    """Progress for a caller who wants none."""

    def note(self, text: str) -> None:
        """Drop it."""

    def begin(self, text: str, *, total_bytes: int) -> None:
        """Drop it."""

    def advance(self, count_bytes: int) -> None:
        """Drop it."""
