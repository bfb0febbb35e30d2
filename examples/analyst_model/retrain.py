"""Train, serve and measure the example models again: ``make models`` (one hour on two cores).

``--evaluate-only`` measures the committed weights and writes the figures beside them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from examples.analyst_model import evaluate
from examples.analyst_model.recipe import RECIPES
from tests.lab import environments
from tests.lab.engine import Engine

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENGINE = "vLLM 0.30.0, CPU build"
# The arguments that decide what an engine answers; how fast it does is not measured here.
SERVE = {
    "dtype": "bfloat16",
    "max-model-len": 2048,
    "max-num-seqs": 8,
    "enable-auto-tool-choice": True,
    "tool-call-parser": "hermes",
    "reasoning-parser": "qwen3",
}


def train(size: str, out: Path) -> None:
    """Run the recipe in the training environment; raises CalledProcessError when it fails."""
    python = environments.ensure("training")
    command = [str(python), "-m", "examples.analyst_model.train", size, "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True)


def measure(size: str, weights: Path, *, rows: int) -> bool:
    """Serve the weights with vLLM, write evaluation.json beside them; return whether they pass."""
    name = f"analyst-{size}"
    with tempfile.TemporaryDirectory() as scratch:
        serve = Path(scratch) / "serve.yaml"
        serve.write_text(yaml.safe_dump({"served-model-name": [name], **SERVE}), encoding="utf-8")
        log = Path(scratch) / "engine.log"
        with Engine(serve_yaml=serve, model_directory=weights, log=log) as engine:
            report = evaluate.report(evaluate.Client(engine.url), name, rows=rows, engine=ENGINE)
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    (weights / "evaluation.json").write_text(text, encoding="utf-8")
    for mode, bar in evaluate.CALLS_BAR.items():
        calls, final = report[mode]["calls"], report[mode]["kind final"]
        print(f"{name} {mode}: calls {calls} (bar {bar}), final sentence {final}", flush=True)
    return evaluate.passes(report)


def main() -> None:
    """Retrain or measure; exit 1 when a model stays below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="small, large (default: both)")
    parser.add_argument("--evaluate-only", action="store_true")
    parser.add_argument("--rows", type=int, default=600)
    arguments = parser.parse_args()
    passed = []
    for size in arguments.models or list(RECIPES):
        weights = HERE / "weights" / size
        if not arguments.evaluate_only:
            train(size, weights)
        passed.append(measure(size, weights, rows=arguments.rows))
    if not all(passed):
        sys.exit("below the bar: do not commit these weights")


if __name__ == "__main__":
    main()
