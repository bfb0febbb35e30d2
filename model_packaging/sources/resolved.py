"""What an address stood for at the moment it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ResolvedSource:
    """One model, pinned: everything here is known before the first byte is downloaded.

    `name` and `version` are those of the package; `artifact_location` is where the files lie.
    """

    uri: str
    name: str
    version: str
    artifact_location: str
    registered_model: str | None = None
    registered_version: str | None = None
    aliases_seen: tuple[str, ...] = ()
    model_id: str | None = None
    run_id: str | None = None
    experiment_id: str | None = None
    git_commit: str | None = None
    training: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)

    @property
    def pinned(self) -> str:
        """The version as a person would say it."""
        if self.registered_model is not None:
            return f"{self.registered_model} version {self.registered_version}"
        return self.model_id or f"run {self.run_id}"
