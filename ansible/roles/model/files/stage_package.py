"""Prepare a package on a host: link files that other packages hold, name those that are missing.

    stage_package.py STAGING

STAGING lies beside the packages and has the manifest.json of the one to be. A file of another
package with the same size and SHA-256 in its manifest is linked; its bytes are checked later, with
all others. Prints `{"linked": COUNT, "missing": [PATH, ...]}`. What the manifest does not name is
removed from STAGING.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

BESIDE = ["SHA256SUMS"]


def listed(folder: str) -> dict[str, tuple[int, str]]:
    """Path -> (size, SHA-256) of the files in a manifest."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        return {row["path"]: (row["size"], row["sha256"]) for row in json.load(file)["files"]}


def others(staging: str) -> dict[tuple[int, str], str]:
    """(size, SHA-256) -> path, over every package beside `staging`."""
    parent, own = os.path.split(staging)
    found: dict[tuple[int, str], str] = {}
    for name in sorted(os.listdir(parent)):
        folder = os.path.join(parent, name)
        if name != own and not name.startswith(".") and os.path.isdir(folder):
            for path, content in listed(folder).items():
                found[content] = os.path.join(folder, path)
    return found


def stage(staging: str) -> dict[str, Any]:
    """Do it; returns what is printed."""
    wanted = listed(staging)
    for folder, _, names in os.walk(staging):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), staging)
            if path not in wanted and path not in [*BESIDE, "manifest.json"]:
                os.remove(os.path.join(staging, path))
    held = others(staging)
    linked, missing = 0, list(BESIDE)
    owner = os.stat(staging)
    for path, content in sorted(wanted.items()):
        target = os.path.join(staging, path)
        folder = os.path.dirname(target)
        while not os.path.isdir(folder):
            os.makedirs(folder, mode=0o750)
            os.chown(folder, owner.st_uid, owner.st_gid)
        if os.path.exists(target) and os.path.getsize(target) == content[0]:
            missing.append(path)
        elif content in held:
            if os.path.exists(target):
                os.remove(target)
            os.link(held[content], target)
            linked += 1
        else:
            missing.append(path)
    return {"linked": linked, "missing": missing}


if __name__ == "__main__":
    print(json.dumps(stage(sys.argv[1].rstrip("/"))))
