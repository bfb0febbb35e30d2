"""``python -m examples.demo``: what ``make demo`` runs once the environment stands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from examples.demo import exchanges, pipeline
from examples.demo.console import Console
from examples.demo.pipeline import DEPLOYMENT, ROOT
from examples.demo.stack import PortTaken, Stack, deployment_ports, require_free
from tests.lab import environments
from tests.lab.errors import LabError
from tests.lab.mlflow_server import MlflowServer

STATE = ROOT / ".perimeter" / "demo"
STAGES = 7
TENANT = "analysts"
MODELS = {
    "small": "gpu_small",
    "large": "gpu_large",
}  # model of the deployment file -> the pool that serves it


def registry(console: Console, training_python: Path) -> dict[str, Any]:
    """Log both models, build and verify their packages and render the deployment; the registry may
    stop after that."""
    with MlflowServer(STATE / "mlflow") as server:
        with console.stage("Log two fine-tuned models to an MLflow server, as a training job does"):
            console.fact("MLflow server", server.uri)
            for record in pipeline.register_models(
                training_python, server.uri, log=STATE / "logs" / "register.log"
            ):
                console.fact(
                    record["registered_model"],
                    f"version {record['version']}, alias {record['alias']}",
                )
        with console.stage(f"package-model build {DEPLOYMENT}"):
            built = pipeline.package_model("build", str(DEPLOYMENT), tracking_uri=server.uri)
            for model in built["models"].values():
                console.fact(
                    model["package_name"],
                    f"{model['source_requested']} -> version {model['version']}",
                )
                for digest in ("package_digest", "model_digest", "weights_digest"):
                    console.fact(f"  {digest}", model[digest])
    return dict(built)


def packages(console: Console, built: dict[str, Any]) -> tuple[dict[str, Path], Path]:
    """Verify the packages and render; return the package directories by model, and the rendered
    directory."""
    with console.stage("package-model verify, then render: what each place reads"):
        found = {key: ROOT / model["directory"] for key, model in built["models"].items()}
        for directory in found.values():
            pipeline.package_model("verify", str(directory))
            console.fact("verified", directory.relative_to(ROOT))
        rendered = ROOT / pipeline.package_model("render", str(DEPLOYMENT))["directory"]
        for key in MODELS:
            console.text(f"\n{(rendered / 'on_prem/serve' / f'{key}.yaml').relative_to(ROOT)}")
            console.text((rendered / "on_prem/serve" / f"{key}.yaml").read_text(encoding="utf-8"))
    return found, rendered


def serve(
    console: Console, stack: Stack, built: dict[str, Any], found: dict[str, Path], rendered: Path
) -> str:
    """Start engines, tools and gateway; return the gateway's address. Raises CommandFailed when
    weights differ from the lock."""
    with console.stage("Start vLLM twice from the rendered arguments, and check what it serves"):
        starting = {
            key: stack.engine(
                pool, rendered / "on_prem/serve" / f"{key}.yaml", found[key] / "model"
            )
            for key, pool in MODELS.items()
        }
        for key, engine in starting.items():
            engine.wait_ready()
            digest = pipeline.served_digest(found[key])
            console.fact(f"{key}: GET /health", f"200 at {engine.url}")
            console.fact("  served weights", digest)
            if digest != built["models"][key]["weights_digest"]:
                raise pipeline.CommandFailed(
                    f"{key}: the served directory is not what the lock file names"
                )
    with console.stage("Start the book's tools and the gateway"):
        stack.tools()
        url = stack.gateway(rendered / "on_prem/request_plan.json")
        console.fact("gateway", url)
    return url


def keep(stack: Stack, url: str) -> None:
    """Say how to ask and how to stop, then wait for Ctrl-C or SIGTERM."""
    question = {"role": "user", "content": "Can you look up the EUR/USD rate on 2026-11-27?"}
    body = json.dumps({"model": "demo", "messages": [question]})
    key = (STATE / "keys" / TENANT).relative_to(ROOT)
    print("\nRunning. Ask it:\n")
    print(f"curl -s {url}/v1/chat/completions -H 'Content-Type: application/json' \\")
    print(f"  -H \"Authorization: Bearer $(cat {key})\" -d '{body}'")
    print(f"\nStop it: Ctrl-C here, or kill {os.getpid()}", flush=True)
    while True:
        time.sleep(3600)


def run() -> None:
    """Run every stage; the state of an earlier run is replaced, packages stay."""
    console = Console(STAGES)
    require_free(deployment_ports())  # an earlier demo that still runs keeps its state
    shutil.rmtree(STATE, ignore_errors=True)
    with Stack(STATE) as stack:
        with console.stage(
            "Environments: training (MLflow, torch) and engine (vLLM), kept for the next run"
        ):
            training_python = environments.ensure("training")
            console.fact("engine", environments.ensure("engine"))
        built = registry(console, training_python)
        found, rendered = packages(console, built)
        url = serve(console, stack, built, found, rendered)
        with console.stage(
            "Three questions through the gateway; nobody declared a label, so each counts as C4"
        ):
            exchanges.run(url, stack.keys.of_tenant[TENANT])
        print(f"\ndemo: ok. Logs and spans are in {STATE.relative_to(ROOT)}.", flush=True)
        if os.environ.get("KEEP") == "1":
            keep(stack, url)


def main() -> None:
    """Run the demo; exit 1 with a message and the place of the logs when a part fails."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        print("\ndemo: stopped, nothing is left running.")
    except (pipeline.CommandFailed, exchanges.Refused, PortTaken, LabError) as error:
        Console.fail(f"{error}\nLogs: {STATE.relative_to(ROOT) / 'logs'}")
        sys.exit(1)


if __name__ == "__main__":
    main()
