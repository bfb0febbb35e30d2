"""What can go wrong while a model becomes a package, as a short hierarchy.

    PerimeterError            exit 1   base; never raised as such
    |- DeploymentInvalid      exit 3   the deployment file lacks something, or says what it may not
    |- PackageRefused         exit 4   what was logged in the registry may not become a package
    |- VerificationFailed     exit 5   a package is not what its own manifest says
    |- RegistryError          exit 6   the registry is out of reach, or the model unknown or moved
    `- LockStale              exit 7   the lock file is missing or was written for another state

Every error names the place, the rule that was broken there and the next thing to do. A package is
published in one step, after everything that can fail: a failing build leaves no trace of its model.
"""

from __future__ import annotations

from typing import ClassVar


class PerimeterError(Exception):
    """An expected failure, worded for the person who runs the command.

    `where` is a path, a field or an address, `rule` the sentence that was broken there, and `fix`
    the next step.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *, where: str, rule: str, fix: str) -> None:
        super().__init__(f"{where}: {rule}\n  fix: {fix}")
        self.where = where
        self.rule = rule
        self.fix = fix

    def as_dict(self) -> dict[str, str | int]:
        """The error as `--json` prints it, under the key `error`."""
        return {
            "kind": type(self).__name__,
            "where": self.where,
            "rule": self.rule,
            "fix": self.fix,
            "exit_code": self.exit_code,
        }


class DeploymentInvalid(PerimeterError):
    """A deployment file that does not load; `where` is the field's path."""

    exit_code: ClassVar[int] = 3


class PackageRefused(PerimeterError):
    """A model that may not become a package; `where` is the file, relative to the model."""

    exit_code: ClassVar[int] = 4


class VerificationFailed(PerimeterError):
    """A package whose files, weights or digests are not what its manifest says."""

    exit_code: ClassVar[int] = 5


class RegistryError(PerimeterError):
    """The registry cannot be reached, does not know the model, or changed while being read."""

    exit_code: ClassVar[int] = 6


class LockStale(PerimeterError):
    """A lock file that is missing or was written for another state of its deployment file."""

    exit_code: ClassVar[int] = 7
