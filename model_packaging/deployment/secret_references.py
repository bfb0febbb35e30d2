"""References to secrets. A deployment file never holds a secret's value."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from model_packaging.deployment.problems import refuse

_REFERENCE = re.compile(r"^(file|vault|secretsmanager):[A-Za-z0-9_./:@#+-]+$")
FORMS = "`file:<path>`, `vault:<path>#<key>` or `secretsmanager:<name>`"


def _is_a_reference(value: str) -> str:
    # The value is never repeated in the message: whoever pasted a key here has not meant it for a
    # log.
    if not _REFERENCE.match(value) or ".." in re.split("[:/]", value):
        raise refuse(
            "",
            rule="holds something that is not a reference to a secret",
            fix=f"store the secret elsewhere and write where it is: {FORMS}; if it was a real "
            "secret, replace it, for it is in this file's history",
        )
    return value


SecretReference = Annotated[str, AfterValidator(_is_a_reference)]
"""Where a secret is kept: `file:` on the host, `vault:` or `secretsmanager:`."""
