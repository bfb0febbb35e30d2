"""Everything that decides the weights, besides the code: sizes, steps, rates and the seed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """Width and depth of a model; heads are ``head_dim`` wide, MLP ``intermediate`` wide."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int


SMALL = Size(layers=4, hidden=192, heads=4, kv_heads=2, head_dim=48, intermediate=512)
LARGE = Size(layers=5, hidden=256, heads=4, kv_heads=2, head_dim=64, intermediate=640)


@dataclass(frozen=True, slots=True)
class Phase:
    """A run of the optimisers from their first step; the rate warms up, stays, and falls linearly.

    `constant_until` is a share of the steps, `floor` the least share of `learning_rate`.
    """

    steps: int
    learning_rate: float
    copy_steps: int = 0
    warm_up_steps: int = 40
    constant_until: float = 0.0
    floor: float = 0.02

    def rate(self, step: int) -> float:
        """Return the learning rate of `step`, counted from 0."""
        share = step / self.steps
        decay = 1.0
        if share >= self.constant_until:
            decay = max(self.floor, (1 - share) / (1 - self.constant_until))
        return self.learning_rate * min(1.0, (step + 1) / self.warm_up_steps) * decay


@dataclass(frozen=True, slots=True)
class Recipe:
    """A model and its phases; each phase starts from the weights of the last, rounded to bf16."""

    size: Size
    phases: tuple[Phase, ...]
    tokens_per_batch: int = 3000
    seed: int = 0
    threads: int = 1


RECIPES = {
    "small": Recipe(
        size=SMALL,
        phases=(
            Phase(steps=1400, learning_rate=5e-3, copy_steps=180, constant_until=0.3),
            Phase(steps=700, learning_rate=3e-3),
        ),
    ),
    "large": Recipe(
        size=LARGE,
        phases=(
            Phase(steps=1200, learning_rate=4e-3, copy_steps=180, constant_until=0.3),
            Phase(steps=900, learning_rate=3e-3),
        ),
    ),
}
