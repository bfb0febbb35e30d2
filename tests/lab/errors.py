"""What can keep a part of the lab from running."""

from __future__ import annotations


class LabError(Exception):
    """A part did not start or ended early. Worded like the product's errors: where, rule, fix."""

    def __init__(self, *, where: str, rule: str, fix: str) -> None:
        super().__init__(f"{where}: {rule}\n  fix: {fix}")


class EnvironmentUnavailable(LabError):
    """This machine cannot have the environment (platform, Python or a wheel is missing).

    Tests skip with this message, except in CI, where a part that cannot run is a failure.
    """
