"""`intents`: kinds of request that the models were evaluated on."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from model_packaging.deployment.places import Place
from model_packaging.deployment.problems import Problem, raise_if_any
from model_packaging.deployment.section import Name, Section, Text


class Answer(Section):
    """Who writes the final text once tools have run."""

    tier: Name = Field(description="Tier whose pools write it.")
    max_tokens: Annotated[int, Field(ge=1)] = Field(description="Longest answer, in tokens.")


class Intent(Section):
    """One kind of request."""

    description: Text = Field(description="What the intent is for.")
    system: Text = Field(
        description="System text; with the tools it is the immutable start of every prompt."
    )
    tier: Name = Field(description="Tier whose pools pick the tools.")
    reasoning: bool = Field(
        default=False, description="Whether the tool-picking model reasons first."
    )
    tools: tuple[Name, ...] = Field(default=(), description="Keys of the tools that are offered.")
    max_tokens: Annotated[int, Field(ge=1)] = Field(
        description="Longest output of one tool-picking step, in tokens."
    )
    max_tool_rounds: Annotated[int, Field(ge=1, le=8)] = Field(
        default=1, description="How often tools may be picked before the answer."
    )
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(
        default=0, description="Sampling temperature; 0 always takes the likeliest token."
    )
    answer: Answer = Field(description="Who writes the final text.")
    places: Annotated[tuple[Place, ...], Field(min_length=1)] | None = Field(
        default=None, description="Where the intent is offered; unset means every place there is."
    )

    @model_validator(mode="after")
    def _lists_nothing_twice(self) -> Intent:
        raise_if_any(
            Problem(field, rule=f"lists `{value}` twice", fix="list it once")
            for field, values in (("tools", self.tools), ("places", self.places or ()))
            for value in sorted(
                {str(getattr(v, "value", v)) for v in values if list(values).count(v) > 1}
            )
        )
        return self

    @property
    def tiers(self) -> tuple[tuple[str, str], ...]:
        """Field and tier of every step: the tool-picking one, then the answering one."""
        return (("tier", self.tier), ("answer.tier", self.answer.tier))


class DefaultIntents(Section):
    """The intent of a request that names none, per place."""

    on_prem: Name | None = Field(default=None, description="Default on the hosts.")
    aws: Name | None = Field(default=None, description="Default on AWS.")

    def of(self, place: Place) -> str | None:
        """The default intent of `place`."""
        return self.on_prem if place is Place.ON_PREM else self.aws


def _for_every_place(value: object) -> object:
    return {place.value: value for place in Place} if isinstance(value, str) else value


DefaultIntent = Annotated[
    DefaultIntents, BeforeValidator(_for_every_place, json_schema_input_type=Name | DefaultIntents)
]
"""A name on its own stands for every place."""
