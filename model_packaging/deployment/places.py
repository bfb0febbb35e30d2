"""The two places a deployment can serve from, and which kind of pool belongs to which."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class Place(StrEnum):
    """Where a model is served. Each place has a plan and a front door of its own."""

    ON_PREM = "on_prem"
    AWS = "aws"


PoolKind = Literal["vllm", "sagemaker", "bedrock"]

PLACE_OF_KIND: dict[PoolKind, Place] = {
    "vllm": Place.ON_PREM,
    "sagemaker": Place.AWS,
    "bedrock": Place.AWS,
}


def kinds_in(place: Place) -> tuple[PoolKind, ...]:
    """The pool kinds that a plan of `place` may hold."""
    return tuple(kind for kind, where in PLACE_OF_KIND.items() if where is place)
