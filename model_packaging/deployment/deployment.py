"""A deployment: all sections, and every rule across them."""

from __future__ import annotations

from pydantic import model_validator

from model_packaging.deployment.fields import DeploymentFields
from model_packaging.deployment.placement import placement_problems
from model_packaging.deployment.problems import raise_if_any
from model_packaging.deployment.reachability import reachability_problems
from model_packaging.deployment.references import reference_problems
from model_packaging.deployment.residency import residency_problems


class Deployment(DeploymentFields):
    """One deployment. An instance has passed every rule; no stack and no play exists for one that
    has not.
    """

    @model_validator(mode="after")
    def _sections_fit_together(self) -> Deployment:
        # The later rules follow names, so they only run once every name leads somewhere.
        raise_if_any(reference_problems(self))
        raise_if_any(placement_problems(self))
        raise_if_any((*reachability_problems(self), *residency_problems(self)))
        return self
