"""Putting models into a real MLflow registry, from the tests' own process or as trainers do it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

from mlflow import MlflowClient

# In the training environment: what a training run does at its end.
LOG_WITH_MLFLOW = """
import sys, mlflow
from transformers import AutoModelForCausalLM, AutoTokenizer

uri, directory, name, extra = sys.argv[1:]
mlflow.set_tracking_uri(uri)
with mlflow.start_run(tags={"git_commit": "0123456789abcdef"}):
    mlflow.log_param("seed", 7)
    mlflow.log_metrics({"accuracy": 0.986, "loss": float("nan")})
    model = AutoModelForCausalLM.from_pretrained(directory, dtype="auto")
    info = mlflow.transformers.log_model(
        {"model": model, "tokenizer": AutoTokenizer.from_pretrained(directory)},
        name="model",
        task="llm/v1/chat",
        registered_model_name=name,
        pip_requirements=["transformers"],
    )
    mlflow.MlflowClient().log_model_artifacts(info.model_id, extra)
"""


def log_with_mlflow(python: Path, uri: str, directory: Path, *, name: str, extra: Path) -> None:
    """Log and register a model with mlflow.transformers; `extra` holds extra_files/."""
    command = [str(python), "-c", LOG_WITH_MLFLOW, uri, str(directory), name, str(extra)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "GIT_PYTHON_REFRESH": "quiet"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr


def log_artifacts(uri: str, directory: Path, path: str = "model") -> str:
    """Log a directory as plain artifacts of a run; returns the run's id."""
    client = MlflowClient(uri, uri)
    run_id = str(client.create_run("0").info.run_id)
    client.log_artifacts(run_id, str(directory), path)
    return run_id


def register(uri: str, directory: Path, *, name: str, aliases: Sequence[str] = ()) -> str:
    """Log a directory and register it as the next version of `name`, which `aliases` point to.

    Returns the version.
    """
    client = MlflowClient(uri, uri)
    run_id = log_artifacts(uri, directory)
    location = f"{client.get_run(run_id).info.artifact_uri}/model"
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    version = str(client.create_model_version(name, location, run_id=run_id).version)
    for alias in aliases:
        client.set_registered_model_alias(name, alias, version)
    return version


def set_alias(uri: str, *, name: str, alias: str, version: str) -> None:
    """Point an alias of a registered model to a version."""
    MlflowClient(uri, uri).set_registered_model_alias(name, alias, version)
