"""Parts shared by the whole test run: each is started when the first test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.demo.pipeline import register_models
from tests.lab.engine import Engine, Engines
from tests.lab.environments import ensure
from tests.lab.errors import EnvironmentUnavailable
from tests.lab.example import BuiltExample, build_example
from tests.lab.mlflow_server import MlflowServer

REPOSITORY = Path(__file__).resolve().parent.parent


@contextmanager
def skipped_where_unavailable() -> Iterator[None]:
    """Skip, saying why, on a machine that cannot have an environment; in CI that is a failure."""
    try:
        yield
    except EnvironmentUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def training_python() -> Path:
    """The Python that has MLflow, torch and transformers."""
    with skipped_where_unavailable():
        return ensure("training")


@pytest.fixture(scope="session")
def engine_python() -> Path:
    """The Python that has vLLM."""
    with skipped_where_unavailable():
        return ensure("engine")


@pytest.fixture(scope="session")
def mlflow_server(
    training_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MlflowServer]:
    """An empty MLflow registry over HTTP; tests name their models apart."""
    with MlflowServer(tmp_path_factory.mktemp("mlflow")) as server:
        yield server


@pytest.fixture(scope="session")
def engines(engine_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Engines by configuration and model; asking twice for the same starts one."""
    shared = Engines(tmp_path_factory.mktemp("engines"))
    try:
        yield shared
    finally:
        shared.stop()


@pytest.fixture(scope="session")
def example(
    training_python: Path, mlflow_server: MlflowServer, tmp_path_factory: pytest.TempPathFactory
) -> BuiltExample:
    """The repository's example: logged to the registry, built and rendered, on free ports."""
    directory = tmp_path_factory.mktemp("example")
    register_models(training_python, mlflow_server.url, log=directory / "register.log")
    return build_example(directory, mlflow_server.url)


@pytest.fixture(scope="session")
def demo_engines(example: BuiltExample, engines: Engines) -> dict[str, Engine]:
    """The example's two engines, ready, by model of the deployment."""
    ports = {p["model"]: p["port"] for p in example.content["pools"].values() if "port" in p}
    started = {
        model: engines.start(
            serve_yaml=example.serve_yaml(model),
            model_directory=example.package(model) / "model",
            api_key="key-of-the-engines",
            port=ports[model],
        )
        for model in ("small", "large")
    }
    for engine in started.values():
        engine.wait_ready()
    return started
