"""The example of the repository, built as a release pipeline builds it, once for a whole test
run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from examples.demo.pipeline import DEPLOYMENT, ROOT, package_model
from tests.lab.ports import free_port


def with_free_ports(deployment: dict[str, Any]) -> dict[str, Any]:
    """A copy of a deployment whose every loopback port is a free one, so that runs can overlap."""
    text = json.dumps(deployment)
    declared = [pool["port"] for pool in deployment["pools"].values() if "port" in pool]
    declared.append(deployment["on_prem"]["gateway"]["port"])
    declared.append(tools_port(deployment))
    for port in declared:
        text = text.replace(str(port), str(free_port()))
    copy: dict[str, Any] = json.loads(text)
    return copy


def tools_port(deployment: dict[str, Any]) -> int:
    """The port of the book's tool server."""
    url: str = next(iter(deployment["tools"].values()))["transport"]["url"]
    return int(url.split(":")[2].split("/")[0])


@dataclass(frozen=True, slots=True)
class BuiltExample:
    """A built and rendered demo deployment in a folder of its own."""

    deployment: Path
    build_report: dict[str, Any]
    rendered: Path

    @property
    def content(self) -> dict[str, Any]:
        """The deployment file as plain data."""
        loaded: dict[str, Any] = yaml.safe_load(self.deployment.read_text(encoding="utf-8"))
        return loaded

    def package(self, model: str) -> Path:
        """The package directory of one model of the deployment."""
        return Path(self.build_report["models"][model]["directory"])

    def serve_yaml(self, model: str) -> Path:
        """The rendered engine arguments of one model."""
        return self.rendered / "on_prem" / "serve" / f"{model}.yaml"


def build_example(directory: Path, tracking_uri: str) -> BuiltExample:
    """Build and render deployments/demo.yaml, with free ports, from a registry with the models.

    Raises CommandFailed with what the command said.
    """
    content = with_free_ports(yaml.safe_load((ROOT / DEPLOYMENT).read_text(encoding="utf-8")))
    content["store"] = str(directory / "packages")
    deployment = directory / "demo.yaml"
    deployment.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    report = package_model("build", str(deployment), tracking_uri=tracking_uri)
    out = directory / "rendered"
    rendered = package_model("render", str(deployment), "--out", str(out))
    return BuiltExample(deployment, report, Path(rendered["directory"]))
