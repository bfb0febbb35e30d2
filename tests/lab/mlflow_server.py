"""A real MLflow tracking server and model registry, over HTTP on the loopback."""

from __future__ import annotations

from pathlib import Path

from tests.lab.environments import ensure
from tests.lab.parts import Part
from tests.lab.ports import LOOPBACK
from tests.lab.processes import ManagedProcess, base_environment


class MlflowServer(Part):
    """A server whose state (database, artefacts, log) lies in `directory`; clients see only `uri`.

    Artefacts go through the server, as in a company where clients have no access to the bucket. It
    sends nothing out and runs no jobs. A second server on the same directory continues where the
    first stopped.
    """

    ready_within_seconds = 90.0

    def __init__(
        self, directory: Path, *, port: int | None = None, outlives_parent: bool = False
    ) -> None:
        super().__init__(port=port, outlives_parent=outlives_parent)
        self.directory = directory.resolve()

    @property
    def uri(self) -> str:
        """The tracking and registry address."""
        return self.url

    def _launch(self) -> ManagedProcess:
        temporary = self.directory / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        python = ensure("training")
        arguments = {
            "--backend-store-uri": f"sqlite:///{self.directory}/mlflow.db",
            "--artifacts-destination": f"{self.directory}/artifacts",
            "--host": LOOPBACK,
            "--port": str(self.port),
            "--workers": "1",
        }
        flat = [part for pair in arguments.items() for part in pair]
        return ManagedProcess(
            [python, "-m", "mlflow", "server", "--serve-artifacts", *flat],
            env=base_environment()
            | {
                "TMPDIR": str(temporary),
                "MLFLOW_DISABLE_TELEMETRY": "true",
                "DO_NOT_TRACK": "true",
                "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
                "GIT_PYTHON_REFRESH": "quiet",
            },
            log_path=self.directory / "mlflow.log",
            name="MLflow server",
            cwd=self.directory,
            outlives_parent=self._outlives_parent,
        )
