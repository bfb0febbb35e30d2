"""`deadline`, `cache` and `features`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from model_packaging.deployment.problems import refuse
from model_packaging.deployment.section import Section


class Deadline(Section):
    """One absolute limit for a whole request, tools and retries included."""

    default_ms: Annotated[int, Field(ge=100, le=600_000)] = Field(
        default=20_000, description="Milliseconds when the caller asks for nothing else."
    )
    max_ms: Annotated[int, Field(ge=100, le=600_000)] = Field(
        default=60_000, description="Most milliseconds a caller may ask for."
    )

    @model_validator(mode="after")
    def _default_is_allowed(self) -> Deadline:
        if self.default_ms > self.max_ms:
            raise refuse(
                "default_ms",
                rule=f"is {self.default_ms}, above max_ms ({self.max_ms})",
                fix="lower default_ms or raise max_ms",
            )
        return self


class _NotServedYet(Section):
    enabled: bool = Field(default=False, description="Must stay false in this release.")

    @model_validator(mode="after")
    def _is_off(self) -> _NotServedYet:
        if self.enabled:
            raise refuse(
                "enabled",
                rule="is true, but this release does not serve it, and a switch must not lie",
                fix="set it to false",
            )
        return self


class Cache(_NotServedYet):
    """Exact answers kept for identical requests. Not served in this release."""

    ttl_seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(
        default=300, description="How long an answer is kept."
    )


class Features(_NotServedYet):
    """Facts about the caller that go last into the prompt. Not served in this release."""

    time_limit_ms: Annotated[int, Field(ge=1, le=1_000)] = Field(
        default=20,
        description="Milliseconds a look-up may take before the request goes on without.",
    )
