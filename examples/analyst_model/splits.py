"""Which values and phrasings the models never see in training.

A value or a phrasing belongs to the held-out part when its SHA-256 falls into one residue class, so
the split needs no file, is the same on every machine, and cannot drift between training and
evaluation.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Literal

Split = Literal["train", "heldout"]


def is_heldout(text: str, *, one_in: int) -> bool:
    """Return whether ``text`` belongs to the held-out part, which holds one in ``one_in`` of all
    texts."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big") % one_in == 0


@cache
def part(texts: tuple[str, ...], split: Split, *, one_in: int) -> tuple[str, ...]:
    """Return the texts of ``split``; raise ValueError when none is left, since a silent empty part
    would skew the figures."""
    chosen = tuple(
        text for text in texts if is_heldout(text, one_in=one_in) == (split == "heldout")
    )
    if not chosen:
        raise ValueError(f"no {split} text among {len(texts)}, e.g. {texts[0]!r}: add variants")
    return chosen
