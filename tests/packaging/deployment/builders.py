"""Deployments for tests: the two examples with one text replaced, and a small one as plain
values.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.loading import parse_deployment
from model_packaging.errors import DeploymentInvalid

DEPLOYMENTS = Path(__file__).resolve().parents[3] / "deployments"
EXAMPLES = ("demo", "analyst")


def example_text(name: str) -> str:
    return (DEPLOYMENTS / f"{name}.yaml").read_text(encoding="utf-8")


def example(name: str) -> Deployment:
    return parse_deployment(example_text(name), name=f"{name}.yaml")


def changed(name: str, *replacements: tuple[str, str]) -> str:
    """The text of an example with the first occurrence of each `old` replaced by `new`."""
    text = example_text(name)
    for old, new in replacements:
        assert old in text, f"{name}.yaml no longer holds {old!r}"
        text = text.replace(old, new, 1)
    return text


def refusal(text: str) -> DeploymentInvalid:
    """The error with which `text` does not load."""
    with pytest.raises(DeploymentInvalid) as caught:
        parse_deployment(text, name="x.yaml")
    return caught.value


def field_of(error: DeploymentInvalid) -> str:
    """The field in `where`, without the position in the file."""
    return error.where.split(" (")[0]


_SMALL: dict[str, Any] = {
    "schema": "perimeter.deployment/1",
    "name": "small",
    "models": {
        "small": {
            "source": "models:/analyst@champion",
            "base": {"name": "Qwen/Qwen3-4B", "licence": "Apache-2.0"},
            "serving": {
                "served_name": "analyst",
                "engine": {"version": "0.30.0"},
                "max_model_len": 4096,
                "max_num_seqs": 8,
                "max_num_queued_reqs": 16,
            },
        }
    },
    "pools": {
        "gpu": {"kind": "vllm", "model": "small", "port": 18101},
        "endpoint": {"kind": "sagemaker", "model": "small"},
    },
    "tiers": {"small": ["gpu", "endpoint"]},
    "tenants": {
        "desk": {
            "floor": "C1",
            "on_prem": {"client_key": "file:/keys/desk"},
            "aws": {"principal": "arn:aws:iam::111122223333:role/desk"},
        }
    },
    "intents": {
        "ask": {
            "description": "Ask.",
            "system": "You answer.",
            "tier": "small",
            "tools": ["look"],
            "max_tokens": 128,
            "answer": {"tier": "small", "max_tokens": 128},
        }
    },
    "default_intent": "ask",
    "tools": {
        "look": {
            "description": "Look something up",
            "parameters": {
                "type": "object",
                "properties": {"what": {"type": "string"}},
                "required": ["what"],
                "additionalProperties": False,
            },
            "transport": {"kind": "http", "url": "http://127.0.0.1:18110/tools/look"},
            "label": "C1",
        }
    },
    "on_prem": {
        "hosts": {"here": {"address": "127.0.0.1"}},
        "keys": {"engine_key": "file:/keys/engine"},
    },
    "aws": {
        "account": "111122223333",
        "region": "eu-west-3",
        "zones": ["eu-west-3a", "eu-west-3b"],
        "instance_type": "ml.g6e.xlarge",
    },
}


def small() -> dict[str, Any]:
    """A fresh copy of a small valid deployment, served from both places."""
    return copy.deepcopy(_SMALL)


def load(values: dict[str, Any]) -> Deployment:
    """Load plain values, by way of JSON, which is YAML too."""
    return parse_deployment(json.dumps(values), name="x.yaml")


def refused(values: dict[str, Any]) -> DeploymentInvalid:
    """The error with which plain values do not load."""
    return refusal(json.dumps(values))
