"""Log the two committed models to MLflow: ``python -m examples.analyst_model.register
--tracking-uri URI``.

Runs in the training environment (full MLflow, torch, transformers), as a team's own training job
would. With each model go the recipe and its seed, the code version, the held-out figures, a sample
of the training data, and golden tool calls for the canary.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import mlflow
import mlflow.transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

from examples.analyst_model.conversations import conversation
from examples.analyst_model.evaluate import heldout, request_body
from examples.analyst_model.prompt import SYSTEM, tools

HERE = Path(__file__).parent
WEIGHTS = HERE / "weights"
ALIAS = "champion"
_SAMPLE_ROWS = 500
_GOLDEN_CALLS = 6


def code_version() -> str:
    """Return the git commit of the checkout, or a digest of the example's own sources where there
    is no git."""
    command = ["git", "-C", str(HERE), "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        return found.stdout.strip()
    sources = sorted(HERE.glob("*.py"))
    return (
        "sources-sha256:"
        + hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    )


def training_sample(seed: int) -> str:
    """Return JSON lines drawn from the generator that trained the model; code version and seed
    define the endless rest."""
    rng = Random(seed + 100)
    rows = (conversation(rng) for _ in range(_SAMPLE_ROWS))
    return "".join(
        json.dumps(
            {"kind": r.kind, "messages": r.messages, "calls": r.calls, "content": r.content},
            ensure_ascii=False,
        )
        + "\n"
        for r in rows
    )


def golden_calls(wrong_rows: list[int]) -> list[dict[str, Any]]:
    """Return held-out requests whose calls the model gets right, greedy and without thinking: the
    canary asks them again."""
    chosen = [
        example
        for at, example in enumerate(heldout(200))
        if at not in wrong_rows and example.kind in ("single", "parallel")
    ][:_GOLDEN_CALLS]
    return [
        {
            "messages": request_body(example, model="", thinking=False)["messages"],
            "tools": tools(),
            "calls": example.calls,
        }
        for example in chosen
    ]


def register(name: str, weights: Path) -> str:
    """Log one model with its record, register it as ``name``, point the alias at it, and return the
    new version."""
    training = json.loads((weights / "training.json").read_text(encoding="utf-8"))
    evaluation = json.loads((weights / "evaluation.json").read_text(encoding="utf-8"))
    recipe = training["recipe"]
    with mlflow.start_run(run_name=name), tempfile.TemporaryDirectory() as scratch:
        mlflow.set_tags(
            {
                "stage": "sft",
                "training_data": "examples.analyst_model.conversations",
                "licence": "Apache-2.0",
            }
        )
        mlflow.set_tag("mlflow.source.git.commit", code_version())
        mlflow.log_params(recipe["size"] | {"seed": recipe["seed"], "system": SYSTEM})
        for number, phase in enumerate(recipe["phases"]):
            mlflow.log_params({f"phase_{number}_{k}": value for k, value in phase.items()})
        for mode in ("plain", "thinking"):
            for slice_name in ("calls", "kind final", "kind none"):
                key = f"{mode}_{slice_name.replace(' ', '_')}_exact"
                mlflow.log_metric(key, evaluation[mode][slice_name]["right"])
        mlflow.log_text(training_sample(recipe["seed"]), "training_sample.jsonl")
        mlflow.log_dict(training, "training.json")
        mlflow.log_dict(evaluation, "evaluation.json")
        info = mlflow.transformers.log_model(
            transformers_model={
                "model": AutoModelForCausalLM.from_pretrained(weights, dtype="bfloat16"),
                "tokenizer": AutoTokenizer.from_pretrained(weights),
            },
            name="model",
            task="llm/v1/chat",
            pip_requirements=["torch", "transformers"],
        )
        extra = Path(scratch) / "extra_files"
        extra.mkdir()
        rows = golden_calls(evaluation["plain_wrong_rows"])
        text = json.dumps(rows, ensure_ascii=False)
        (extra / "golden_calls.json").write_text(text, encoding="utf-8")
        client = mlflow.MlflowClient()
        client.log_model_artifacts(info.model_id, scratch)
    # Registered only now: whoever resolves the alias must find every file.
    version = str(mlflow.register_model(f"models:/{info.model_id}", name).version)
    client.set_registered_model_alias(name, ALIAS, version)
    return version


def main() -> None:
    """Register ``analyst-small`` and ``analyst-large``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tracking-uri", required=True)
    mlflow.set_tracking_uri(parser.parse_args().tracking_uri)
    mlflow.set_experiment("analyst")
    for size in ("small", "large"):
        name = f"analyst-{size}"
        version = register(name, WEIGHTS / size)
        print(
            json.dumps({"registered_model": name, "version": version, "alias": ALIAS}), flush=True
        )


if __name__ == "__main__":
    main()
