"""Releases of AWS's vLLM server image for SageMaker (`server-sagemaker-cuda-v<release>`).

Data, from the image's changelog and its entry point. A release missing here is one this repository
has not read yet.
"""

from __future__ import annotations

from collections.abc import Mapping

ENGINE_OF_RELEASE: Mapping[str, str] = {
    "2.1": "0.24.0",
    "2.2": "0.26.0",
    "2.3": "0.27.0",
    "2.5": "0.30.0",
}
"""The vLLM version inside each release."""


def release_for(engine_version: str) -> str | None:
    """The newest known release that carries `engine_version`, or None."""
    found = [release for release, engine in ENGINE_OF_RELEASE.items() if engine == engine_version]
    return max(found, key=release_order, default=None)


def release_order(release: str) -> tuple[int, int]:
    """A sortable form of `2.5`; text would put 2.10 before 2.9."""
    major, minor = release.split(".")
    return int(major), int(minor)
