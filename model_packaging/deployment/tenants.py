"""`tenants`: who may call, and the least label their requests have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from model_packaging.deployment.labels import Label
from model_packaging.deployment.places import Place
from model_packaging.deployment.problems import refuse
from model_packaging.deployment.secret_references import SecretReference
from model_packaging.deployment.section import Section, Text


class OnPremIdentity(Section):
    """How the on-prem gateway recognises the tenant."""

    client_key: SecretReference = Field(description="Reference to the tenant's client key.")


class AwsIdentity(Section):
    """How AWS recognises the tenant."""

    principal: Annotated[
        str, StringConstraints(pattern=r"^arn:aws:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]+$")
    ] = Field(description="ARN of the IAM role or user that calls.")


class Tenant(Section):
    """A group of callers."""

    description: Text | None = Field(default=None, description="Who they are.")
    floor: Label = Field(
        default=Label.C1, description="Least label of their requests, whatever they declare."
    )
    on_prem: OnPremIdentity | None = Field(default=None, description="Identity on the hosts.")
    aws: AwsIdentity | None = Field(default=None, description="Identity on AWS.")

    @model_validator(mode="after")
    def _can_be_recognised(self) -> Tenant:
        if self.on_prem is None and self.aws is None:
            raise refuse(
                "",
                rule="has no identity, so no request could ever be theirs",
                fix="give it `on_prem.client_key`, `aws.principal`, or both",
            )
        return self

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the tenant has an identity."""
        found = {Place.ON_PREM: self.on_prem, Place.AWS: self.aws}
        return tuple(place for place, identity in found.items() if identity is not None)

    def identity_in(self, place: Place) -> str | None:
        """The key reference or principal in `place`, or None."""
        if place is Place.ON_PREM:
            return self.on_prem.client_key if self.on_prem else None
        return self.aws.principal if self.aws else None
