"""Manifests and locks as `package-model build` would have left them, without a registry."""

from __future__ import annotations

import hashlib
from typing import Any

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.lock import DeploymentLock, LockedModel
from model_packaging.package.manifest import Manifest


def digest_of(text: str) -> str:
    """Some digest, always the same for the same text."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def manifest_of(deployment: Deployment, key: str, /, **changes: Any) -> Manifest:
    """A manifest that suits model `key`; `changes` replace parts, as in `chat={"renders_tools":
    ...}`.
    """
    name = deployment.models[key].serving.served_name
    values: dict[str, Any] = {
        "schema": "perimeter.package/1",
        "name": name,
        "version": "3",
        "weights_digest": digest_of(f"{name} weights"),
        "model_digest": digest_of(f"{name} model"),
        "files": [],
        "source": {
            "uri": deployment.models[key].source,
            "registered_model": name,
            "version": "3",
            "aliases_seen": ["champion"],
            "model_id": "m-" + "0" * 32,
            "run_id": "1" * 32,
            "experiment_id": "1",
            "flavor": "transformers",
            "git_commit": None,
            "training": {},
            "metrics": {},
        },
        "model": {
            "architecture": "Qwen3ForCausalLM",
            "model_type": "qwen3",
            "parameters": 4_000_000_000,
            "dtype": "BF16",
            "tied_embeddings": True,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "hidden_size": 2560,
            "vocab_size": 151936,
            "max_position_embeddings": 40960,
            "quantization": None,
        },
        "tokenizer": {
            "vocab_size": 151936,
            "eos_token": "<|im_end|>",
            "eos_token_ids": [151645],
            "pad_token": "<|endoftext|>",
        },
        "chat": {
            "template_sha256": "0" * 64,
            "renders_tools": True,
            "renders_thinking": True,
        },
    }
    for part, change in changes.items():
        values[part] = {**values[part], **change} if isinstance(change, dict) else change
    return Manifest.model_validate(values)


def manifests_of(deployment: Deployment) -> dict[str, Manifest]:
    """A suitable manifest for every model."""
    return {model: manifest_of(deployment, model) for model in deployment.models}


def lock_of(deployment: Deployment, manifests: dict[str, Manifest] | None = None) -> DeploymentLock:
    """The lock that names `manifests`, or suitable ones."""
    models = {}
    for key, manifest in (manifests or manifests_of(deployment)).items():
        models[key] = LockedModel(
            source_requested=deployment.models[key].source,
            registered_model=manifest.source.registered_model,
            version=manifest.source.version,
            model_id=manifest.source.model_id,
            run_id=manifest.source.run_id,
            package_name=manifest.name,
            package_version=manifest.version,
            package_digest=manifest.package_digest,
            model_digest=manifest.model_digest,
            weights_digest=manifest.weights_digest,
        )
    return DeploymentLock(schema="perimeter.lock/1", deployment=deployment.name, models=models)
