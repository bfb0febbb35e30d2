"""config.json and generation_config.json in both spellings, with nothing guessed."""

from __future__ import annotations

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package.dialect import portable_config, portable_generation_config
from tests.packaging.tiny_model import configuration

THETA = 5_000_000.0
PLAIN = {"rope_theta": THETA, "rope_type": "default"}
YARN = {"factor": 4.0, "original_max_position_embeddings": 128, "rope_type": "yarn"}


def with_positions(**keys: object) -> dict[str, object]:
    config = configuration()
    del config["rope_parameters"]
    return portable_config(config | keys, dtype="bfloat16")


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_parameters": PLAIN},
        {"rope_theta": THETA},
        {"rope_theta": THETA, "rope_scaling": None},
        {"rope_theta": 5_000_000, "rope_parameters": {"rope_type": "default"}},
        {"rope_theta": THETA, "rope_scaling": {"type": "default"}},
    ],
)
def test_every_spelling_of_plain_positions_becomes_both(keys):
    portable = with_positions(**keys)
    assert portable["rope_theta"] == THETA
    assert portable["rope_parameters"] == PLAIN
    assert portable["rope_scaling"] is None


@pytest.mark.parametrize(
    "keys",
    [
        {"rope_parameters": YARN | {"rope_theta": THETA}},
        {"rope_theta": THETA, "rope_scaling": YARN},
        {"rope_theta": THETA, "rope_scaling": YARN, "rope_parameters": YARN},
    ],
)
def test_every_spelling_of_scaled_positions_becomes_both(keys):
    portable = with_positions(**keys)
    assert portable["rope_theta"] == THETA
    assert portable["rope_parameters"] == YARN | {"rope_theta": THETA}
    assert portable["rope_scaling"] == YARN


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({}, "states no rope_theta; libraries differ in what they then assume"),
        ({"rope_theta": True}, "states no rope_theta"),
        ({"rope_theta": -1.0}, "states no rope_theta"),
        ({"rope_theta": 1e4, "rope_parameters": PLAIN}, "gives rope_theta 10000.0 and 5000000.0"),
        (
            {"rope_scaling": YARN, "rope_parameters": PLAIN | YARN | {"factor": 2.0}},
            "gives factor as 4.0 and as 2.0",
        ),
        ({"rope_parameters": {"full_attention": PLAIN}}, "gives rope_parameters that are not one"),
    ],
)
def test_positions_that_two_readers_would_read_apart_are_refused(keys, rule):
    with pytest.raises(PackageRefused) as caught:
        with_positions(**keys)
    assert str(caught.value).startswith(f"config.json: {rule}")
    assert caught.value.fix == "save the model again with save_pretrained and compare the rope keys"


@pytest.mark.parametrize("given", [{"dtype": "bfloat16"}, {"torch_dtype": "bfloat16"}, {}])
def test_the_dtype_is_given_in_both_spellings(given):
    config = configuration() | {"dtype": None} | given
    portable = portable_config(config, dtype="bfloat16")
    assert (portable["dtype"], portable["torch_dtype"]) == ("bfloat16", "bfloat16")


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_a_dtype_that_is_not_that_of_the_weights_is_refused(key):
    with pytest.raises(PackageRefused, match=f"gives {key} float32, the weights are bfloat16"):
        portable_config(configuration() | {key: "float32"}, dtype="bfloat16")


def test_tied_embeddings_are_always_stated():
    config = configuration()
    del config["tie_word_embeddings"]
    assert portable_config(config, dtype="bfloat16")["tie_word_embeddings"] is False


def test_paths_of_the_training_machine_are_left_out():
    portable = portable_config(
        configuration() | {"_name_or_path": "/data/checkpoint"}, dtype="bfloat16"
    )
    assert "_name_or_path" not in portable


def test_making_it_portable_twice_changes_nothing():
    once = portable_config(configuration(), dtype="bfloat16")
    assert portable_config(once, dtype="bfloat16") == once


@pytest.mark.parametrize("key", ["auto_map", "custom_pipelines", "trust_remote_code"])
def test_settings_that_name_code_are_refused(key):
    with pytest.raises(PackageRefused, match=f"holds {key}: loading the model would run code"):
        portable_config(configuration() | {key: {"AutoConfig": "x.Y"}}, dtype="bfloat16")
    with pytest.raises(PackageRefused, match=f"generation_config.json: holds {key}"):
        portable_generation_config({key: {"a": "b"}}, config={}, end_token=2)


@pytest.mark.parametrize(
    ("generation", "config", "ends"),
    [
        ({"eos_token_id": [0, 2]}, {}, [2, 0]),
        ({"eos_token_id": 2}, {}, [2]),
        ({}, {"eos_token_id": 2}, [2]),
        (None, {"eos_token_id": [7, 2]}, [2, 7]),
        (None, {}, [2]),
        ({"eos_token_id": None}, {"eos_token_id": None}, [2]),
    ],
)
def test_generation_ends_at_the_end_of_turn_first(generation, config, ends):
    portable = portable_generation_config(generation, config=config, end_token=2)
    assert portable["eos_token_id"] == ends


@pytest.mark.parametrize(
    ("generation", "config", "where"),
    [
        ({"eos_token_id": [0]}, {"eos_token_id": 2}, "generation_config.json"),
        (None, {"eos_token_id": 0}, "config.json"),
    ],
)
def test_a_model_that_would_not_stop_at_the_end_of_turn_is_refused(generation, config, where):
    with pytest.raises(PackageRefused) as caught:
        portable_generation_config(generation, config=config, end_token=2)
    assert str(caught.value) == (
        f"{where}: ends generation at [0], the tokenizer's end of turn is 2\n"
        "  fix: set eos_token in the tokenizer and eos_token_id in the model to the same token"
    )


@pytest.mark.parametrize("ends", ["2", [True], [2.0], -1, {"id": 2}])
def test_an_end_that_is_no_token_id_is_refused(ends):
    with pytest.raises(PackageRefused, match="expected token ids"):
        portable_generation_config({"eos_token_id": ends}, config={}, end_token=2)


def test_the_padding_token_is_taken_from_the_configuration_where_it_is_missing():
    portable = portable_generation_config(None, config={"pad_token_id": 0}, end_token=2)
    assert portable == {"eos_token_id": [2], "pad_token_id": 0}
