"""Is this package whole? The checks are those of `verify`, the answer is a manifest."""

from __future__ import annotations

from pathlib import Path

from model_packaging.errors import VerificationFailed
from model_packaging.package.manifest import Manifest, read_manifest
from model_packaging.package.verify import Broken, check_package
from model_packaging.progress import Progress, Silent


def verify_package(directory: Path, progress: Progress | None = None) -> Manifest:
    """Read every byte of a package and compare it with its manifest.

    Raises VerificationFailed with the first file that is not as written.
    """
    told = progress or Silent()
    manifest = read_manifest(directory)
    told.begin(f"verifying {directory}", total_bytes=sum(entry.size for entry in manifest.files))
    try:
        check_package(str(directory), told.advance)
    except Broken as broken:
        where = str(directory / broken.where)
        raise VerificationFailed(where=where, rule=broken.rule, fix=broken.fix) from broken
    except OSError as error:
        rule = f"cannot be read ({error.strerror})"
        fix = "check the path and the rights on it"
        raise VerificationFailed(where=str(directory), rule=rule, fix=fix) from error
    return manifest
