"""The rendered files of both examples, as committed in `golden/`.

python -m tests.packaging.render.golden     writes them again, after a change that is meant
"""

from __future__ import annotations

import shutil
from pathlib import Path

from model_packaging.render.rendering import Rendered, render
from tests.packaging.deployment.builders import EXAMPLES, example
from tests.packaging.render.packages import lock_of, manifests_of

FOLDER = Path(__file__).with_name("golden")


def rendered_example(name: str) -> Rendered:
    """An example rendered with made-up packages that suit it."""
    deployment = example(name)
    manifests = manifests_of(deployment)
    return render(deployment, lock_of(deployment, manifests), manifests)


def committed(name: str) -> dict[str, bytes]:
    """The files in `golden/<name>`, by path."""
    folder = FOLDER / name
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def main() -> None:
    """Replace `golden/` by what is rendered now."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in EXAMPLES:
        for path, content in rendered_example(name).items():
            target = FOLDER / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


if __name__ == "__main__":
    main()
