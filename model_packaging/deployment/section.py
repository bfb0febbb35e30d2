"""The base of every section: frozen, strict, and closed to unknown keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class Section(BaseModel):
    """A part of the deployment file.

    Strict: a number is never read as text or the other way round, so an unquoted `0.30` is not a
    version.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


# Names become file names, metric labels and OpenAI tool names: the narrowest of these alphabets is
# the rule for all.
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,47}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
