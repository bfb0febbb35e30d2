"""`tools`: what a model may call, how it is reached, and what its results are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from model_packaging.deployment.labels import Label
from model_packaging.deployment.parameters import Parameters
from model_packaging.deployment.places import Place
from model_packaging.deployment.problems import refuse
from model_packaging.deployment.section import Section, Text


class HttpTransport(Section):
    """An HTTP service: arguments are posted as JSON, the result comes back as JSON."""

    kind: Literal["http"] = Field(description="An HTTP service.")
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s?#@]+$")] = Field(
        description="Address to post to, without a query or credentials."
    )


class LambdaTransport(Section):
    """A Lambda function, invoked by name. It can be reached from AWS only."""

    kind: Literal["lambda"] = Field(description="A Lambda function.")
    function: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = Field(
        description="Name of the function in `aws.account`."
    )


Transport = Annotated[HttpTransport | LambdaTransport, Field(discriminator="kind")]


class Tool(Section):
    """A tool, always offered with `strict: true`; a call that does not fit is never run."""

    description: Text = Field(description="What the model reads about the tool.")
    parameters: Parameters = Field(description="JSON Schema of the arguments.")
    transport: Transport = Field(description="How the tool is reached.")
    transport_overrides: Mapping[Place, Transport] = Field(
        default={}, description="How it is reached in one place, where that differs."
    )
    label: Label = Field(description="Label of what the tool returns.")
    time_limit_ms: Annotated[int, Field(ge=10, le=120_000)] = Field(
        default=2_000, description="Milliseconds one call may take."
    )
    side_effects: bool = Field(
        default=False, description="Whether a call changes anything; such a call is never repeated."
    )

    @model_validator(mode="after")
    def _hosts_cannot_invoke_functions(self) -> Tool:
        override = self.transport_overrides.get(Place.ON_PREM)
        if isinstance(override, LambdaTransport):
            raise refuse(
                "transport_overrides.on_prem",
                rule="is a Lambda function, which hosts cannot reach: nothing there may call AWS",
                fix="give the hosts an `http` transport",
            )
        return self

    def transport_in(self, place: Place) -> HttpTransport | LambdaTransport:
        """How the tool is reached from `place`."""
        return self.transport_overrides.get(place, self.transport)
