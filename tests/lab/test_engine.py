from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.lab.engine import Engine
from tests.lab.errors import LabError

pytestmark = pytest.mark.engine

KEY = "a key of the lab"
SERVE_YAML = """
served-model-name: lab
model: /a/path/of/the/host
port: 1
max-model-len: 1024
max-num-seqs: 4
dtype: bfloat16
"""


@pytest.fixture(scope="module")
def engine(engines, repository, tmp_path_factory) -> Engine:
    serve_yaml = tmp_path_factory.mktemp("lab") / "serve.yaml"
    serve_yaml.write_text(SERVE_YAML)
    weights = repository / "examples" / "analyst_model" / "weights" / "small"
    shared = engines.start(serve_yaml=serve_yaml, model_directory=weights, api_key=KEY)
    assert engines.start(serve_yaml=serve_yaml, model_directory=weights, api_key=KEY) is shared
    shared.wait_ready()
    return shared


def call(engine: Engine, path: str, body: object = None, key: str = KEY) -> dict:
    request = urllib.request.Request(
        engine.url + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_the_engine_serves_the_directory_under_the_name_of_its_configuration(engine):
    (model,) = call(engine, "/v1/models")["data"]
    assert (model["id"], model["max_model_len"]) == ("lab", 1024)
    assert Path(model["root"]) == engine.model_directory


def test_the_engine_generates(engine):
    body = {"model": "lab", "prompt": "What is the rate", "max_tokens": 8, "ignore_eos": True}
    assert call(engine, "/v1/completions", body)["usage"]["completion_tokens"] == 8


def test_the_engine_asks_for_its_key_and_keeps_it_off_the_command_line(engine):
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(engine, "/v1/models", key="another")
    refused.value.close()
    assert refused.value.code == 401
    assert KEY not in Path(f"/proc/{engine.process.pid}/cmdline").read_text()


def test_the_engine_is_the_version_that_the_deployments_name(engine):
    assert call(engine, "/version")["version"].startswith("0.30.0")


def test_an_engine_that_refuses_its_configuration_shows_its_own_words(engine_python, tmp_path):
    serve_yaml = tmp_path / "serve.yaml"
    serve_yaml.write_text("no-such-option: 1\n")
    engine = Engine(serve_yaml=serve_yaml, model_directory=tmp_path, log=tmp_path / "log")
    with pytest.raises(LabError, match=r"(?s)ended with exit code 2 .*--no-such-option"), engine:
        pass
    assert engine.process.exit_code == 2


def test_a_key_comes_from_one_place(tmp_path):
    key_file = tmp_path / "key"
    key_file.write_text(f"{KEY}\n")
    parts = {"serve_yaml": tmp_path, "model_directory": tmp_path, "log": tmp_path / "log"}
    assert Engine(api_key_file=key_file, **parts).api_key == KEY
    with pytest.raises(ValueError, match="give api_key or api_key_file, not both"):
        Engine(api_key=KEY, api_key_file=key_file, **parts)
