from __future__ import annotations

import subprocess
import sys

import pytest

from tests.lab.mlflow_server import MlflowServer
from tests.lab.processes import base_environment

pytestmark = pytest.mark.mlflow

REGISTER = """
import mlflow, sys
mlflow.set_tracking_uri(sys.argv[1])
with mlflow.start_run() as run:
    mlflow.log_text("a figure", "notes/figure.txt")
client = mlflow.MlflowClient()
client.create_registered_model("lab-registry")
version = client.create_model_version(
    "lab-registry", f"{run.info.artifact_uri}/notes", run_id=run.info.run_id
)
client.set_registered_model_alias("lab-registry", "champion", version.version)
"""
READ = """
import mlflow, sys
mlflow.set_tracking_uri(sys.argv[1])
version = mlflow.MlflowClient().get_model_version_by_alias("lab-registry", "champion")
folder = mlflow.artifacts.download_artifacts("models:/lab-registry@champion", dst_path=sys.argv[2])
print(version.version, open(folder + "/figure.txt").read())
"""


def run_client(code: str, *arguments: str) -> str:
    """Run code as the product does: in its own environment, with the small MLflow client."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        env=base_environment()
        | {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_client_on_http_registers_a_model_and_another_reads_it_by_its_alias(
    mlflow_server, tmp_path
):
    run_client(REGISTER, mlflow_server.uri)
    assert run_client(READ, mlflow_server.uri, str(tmp_path)) == "1 a figure"
    # The client went through the server: the artefact lies in the server's folder alone.
    assert list((mlflow_server.directory / "artifacts").rglob("figure.txt"))


@pytest.mark.usefixtures("training_python")
def test_the_state_is_there_again_after_a_restart(tmp_path):
    with MlflowServer(tmp_path / "registry") as server:
        run_client(REGISTER, server.uri)
    with MlflowServer(tmp_path / "registry") as server:
        assert run_client(READ, server.uri, str(tmp_path)) == "1 a figure"
