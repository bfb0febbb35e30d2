"""`package-model verify`."""

from __future__ import annotations

from pathlib import Path

import click

from model_packaging.cli.output import EXIT_CODES, Result, reporting, table
from model_packaging.errors import VerificationFailed
from model_packaging.package.verifying import verify_package
from model_packaging.progress import Progress


@click.command(epilog=EXIT_CODES, short_help="Is this package whole?")
@click.argument("directory", metavar="PACKAGE", type=click.Path(path_type=Path))
@click.option("--expect", metavar="DIGEST", help="The package digest (sha256:...) it must have.")
@reporting
def verify(*, progress: Progress, directory: Path, expect: str | None) -> Result:
    """Read every byte of a package and compare it with its manifest.

    The package's own verify.py makes the same checks on a host that has only Python.
    """
    manifest = verify_package(directory, progress)
    if expect not in (None, manifest.package_digest):
        raise VerificationFailed(
            where=str(directory),
            rule=f"has digest {manifest.package_digest}, expected {expect}",
            fix="fetch the package that was meant",
        )
    found = {
        "package": f"{manifest.name} {manifest.version}",
        "package_digest": manifest.package_digest,
        "model_digest": manifest.model_digest,
        "weights_digest": manifest.weights_digest,
        "files": len(manifest.files),
        "bytes": sum(entry.size for entry in manifest.files),
    }
    data = {"ok": True, "name": manifest.name, "version": manifest.version, **found}
    del data["package"]
    return Result(text=table(found) + "\nok", data=data)
