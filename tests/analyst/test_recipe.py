"""The training recipe, in the environment that trains."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.lab.environments import ensure
from tests.lab.processes import base_environment

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def report():
    done = subprocess.run(
        [ensure("training"), "-W", "ignore", "-m", "tests.analyst.recipe_check"],
        cwd=ROOT,
        env=base_environment() | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_what_the_recipe_learns_from_is_what_the_chat_template_renders(report):
    assert report["rows_rendered_differently"] == 0


def test_sharing_the_prefix_gives_the_hidden_states_of_the_whole_sequence(report):
    assert report["largest_difference"] < 1e-4


def test_a_name_is_spelled_alike_in_a_sentence_and_in_json(report):
    assert report["name_has_one_spelling"]


def test_the_tokenizer_loses_no_character(report):
    assert report["round_trip"]
