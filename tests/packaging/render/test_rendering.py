"""Equal inputs give equal bytes, and the bytes are the committed ones."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from model_packaging.render.rendering import render
from tests.packaging.deployment.builders import EXAMPLES, example, load, small
from tests.packaging.render.golden import committed, rendered_example
from tests.packaging.render.packages import lock_of, manifests_of

DIGEST_OF_EVERYTHING = """
import hashlib, locale
from tests.packaging.render.golden import rendered_example
locale.setlocale(locale.LC_ALL, "")
found = hashlib.sha256()
for name in ("demo", "analyst"):
    for path, content in rendered_example(name).items():
        found.update(path.encode() + b"\\0" + content)
print(found.hexdigest())
"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_renders_to_the_committed_files(name):
    rendered, golden = dict(rendered_example(name)), committed(name)
    assert sorted(rendered) == sorted(golden)
    for path, content in rendered.items():
        assert content == golden[path], (
            f"golden/{name}/{path} differs; if that is meant, run `python -m "
            "tests.packaging.render.golden`"
        )


def test_neither_hash_seed_nor_locale_nor_time_zone_changes_a_byte(repository: Path):
    settings = (
        {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "POSIX", "TZ": "America/New_York"},
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST_OF_EVERYTHING],
            cwd=repository,
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for environment in settings
    }
    assert len(digests) == 1


def test_the_order_of_sections_in_the_file_changes_no_byte():
    values = small()
    backwards = dict(reversed(values.items()))
    backwards["pools"] = dict(reversed(values["pools"].items()))
    first, second = load(values), load(backwards)
    manifests = manifests_of(first)
    lock = lock_of(first, manifests)
    assert dict(render(first, lock, manifests)) == dict(render(second, lock, manifests))


def test_each_place_gets_its_own_files_and_prompts_are_shared():
    assert list(rendered_example("demo")) == [
        "aws/environment/large.json",
        "aws/environment/small.json",
        "aws/request_plan.json",
        "on_prem/request_plan.json",
        "on_prem/serve/large.yaml",
        "on_prem/serve/small.yaml",
        "prompts/lookup.json",
        "prompts/market.json",
    ]


def test_a_place_that_is_not_served_gets_no_file():
    values = small()
    del values["aws"], values["tenants"]["desk"]["aws"], values["pools"]["endpoint"]
    values["tiers"]["small"] = ["gpu"]
    deployment = load(values)
    manifests = manifests_of(deployment)
    rendered = render(deployment, lock_of(deployment, manifests), manifests)
    assert not [path for path in rendered if path.startswith("aws")]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_rendered_file_is_read_by_its_own_reader(name):
    for path, content in rendered_example(name).items():
        value = yaml.safe_load(content) if path.endswith(".yaml") else json.loads(content)
        assert isinstance(value, dict)
        assert content.endswith(b"\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_secret_reference_reaches_a_rendered_file(name):
    for content in rendered_example(name).values():
        assert b"vault:" not in content
        assert b"file:" not in content


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_prompt_keeps_the_declared_order_of_a_tools_arguments(name):
    deployment = example(name)
    for intent, declared in deployment.intents.items():
        content = rendered_example(name)[f"prompts/{intent}.json"]
        prompt = json.loads(content)
        assert list(prompt) == ["system", "tools"]
        assert [t["function"]["name"] for t in prompt["tools"]] == sorted(declared.tools)
        for tool in prompt["tools"]:
            function = tool["function"]
            assert function["strict"] is True
            wanted: Any = deployment.tools[function["name"]].parameters["properties"]
            assert list(function["parameters"]["properties"]) == list(wanted)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("place", ["on_prem", "aws"])
def test_a_plan_names_each_prompt_by_the_digest_of_its_bytes(name, place):
    rendered = rendered_example(name)
    plan = json.loads(rendered[f"{place}/request_plan.json"])
    for intent in plan["intents"].values():
        assert hashlib.sha256(rendered[intent["prompt"]]).hexdigest() == intent["prompt_sha256"]
