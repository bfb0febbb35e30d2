"""`data`: what each kind of pool may be shown."""

from __future__ import annotations

from pydantic import Field, model_validator

from model_packaging.deployment.labels import OUTSIDE_CEILING, Label
from model_packaging.deployment.places import PoolKind
from model_packaging.deployment.problems import Problem, raise_if_any
from model_packaging.deployment.section import Section


class MayHold(Section):
    """Highest label per kind of pool."""

    vllm: Label = Field(default=Label.C4, description="Own hosts.")
    sagemaker: Label = Field(default=Label.C2, description="SageMaker endpoints; never above C2.")
    bedrock: Label = Field(default=Label.C2, description="Bedrock; never above C2.")

    @model_validator(mode="after")
    def _confidential_data_stays_inside(self) -> MayHold:
        outside: tuple[PoolKind, ...] = ("sagemaker", "bedrock")
        raise_if_any(
            Problem(
                kind,
                rule=f"is {self.of(kind).value}, but data above {OUTSIDE_CEILING.value} never "
                "leaves the company's own hosts",
                fix=f"set it to {OUTSIDE_CEILING.value} or lower, and serve such data with a "
                "`vllm` pool",
            )
            for kind in outside
            if not self.of(kind).may_be_held_up_to(OUTSIDE_CEILING)
        )
        return self

    def of(self, kind: PoolKind) -> Label:
        """The ceiling of `kind`."""
        return {"vllm": self.vllm, "sagemaker": self.sagemaker, "bedrock": self.bedrock}[kind]


class Data(Section):
    """Labels of requests and the ceilings of pools."""

    unlabelled: Label = Field(
        default=Label.C4, description="The label of a request whose caller declares none."
    )
    may_hold: MayHold = Field(
        default=MayHold(), description="Highest label that each kind of pool may see."
    )
