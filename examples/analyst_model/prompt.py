"""The immutable start of every prompt: one system text and the tools, as the deployment file
declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DEPLOYMENT = Path(__file__).resolve().parents[2] / "deployments" / "demo.yaml"
SYSTEM = "You are a banking analyst assistant."


def tools() -> list[dict[str, Any]]:
    """Return the demo deployment's tools in OpenAI form, sorted by name, as the rendered prompt
    offers them."""
    declared = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))["tools"]
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": declared[name]["description"],
                "parameters": declared[name]["parameters"],
            },
        }
        for name in sorted(declared)
    ]
