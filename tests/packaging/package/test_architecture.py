"""The tensors that a configuration asks for, family by family."""

from __future__ import annotations

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package.architecture import expected_tensors, read_network
from tests.packaging.tiny_model import configuration, shapes


@pytest.mark.parametrize("family", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize("tied", [True, False])
def test_names_and_shapes_are_those_of_the_family(family, tied):
    config = configuration(family, tied=tied)
    assert expected_tensors(read_network(config)) == shapes(config)


def test_biases_are_asked_for_where_they_are_switched_on():
    llama = configuration("llama") | {"attention_bias": True, "mlp_bias": True}
    names = set(expected_tensors(read_network(llama)))
    layer = "model.layers.0."
    assert {f"{layer}self_attn.{part}_proj.bias" for part in "qkvo"} <= names
    assert {f"{layer}mlp.{part}_proj.bias" for part in ("gate", "up", "down")} <= names
    qwen = expected_tensors(read_network(configuration() | {"attention_bias": True}))
    assert qwen[f"{layer}self_attn.o_proj.bias"] == (16,)
    assert qwen[f"{layer}self_attn.k_proj.bias"] == (16,)
    assert qwen[f"{layer}self_attn.q_proj.bias"] == (32,)


def test_sizes_that_a_family_leaves_out_are_derived_only_where_its_readers_agree():
    llama = configuration("llama")
    del llama["head_dim"], llama["num_key_value_heads"]
    network = read_network(llama)
    assert (network.head_dim, network.num_key_value_heads) == (4, 4)
    qwen = configuration()
    del qwen["head_dim"]
    with pytest.raises(PackageRefused, match="gives head_dim as None"):
        read_network(qwen)


@pytest.mark.parametrize("value", [0, -1, 2**31, 1.0, True, None, "4"])
def test_a_size_that_is_no_positive_whole_number_is_refused(value):
    with pytest.raises(PackageRefused, match="expected a positive whole number"):
        read_network(configuration() | {"num_hidden_layers": value})
