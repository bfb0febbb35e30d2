"""Which tensors a configuration asks for, and of which shape.

An engine that finds a tensor missing may fill it with random numbers, and one that finds one too
many may drop it; both answer fluently. So names and shapes are compared here, for each family that
the project serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_packaging.errors import PackageRefused
from model_packaging.package.verify import Weights

Shape = tuple[int, ...]
CLASSES = {
    "qwen3": "Qwen3ForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "llama": "LlamaForCausalLM",
}
OUTPUT = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"
# safetensors dtype -> the name in config.json. Quantised weights are another matter: see below.
PLAIN_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
_SAVE = "save the model again with save_pretrained, so that config.json and weights fit"


@dataclass(frozen=True, kw_only=True)
class Network:
    """The sizes of a decoder, as config.json states them."""

    architecture: str
    model_type: str
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    max_position_embeddings: int
    tied_embeddings: bool
    attention_bias: bool
    mlp_bias: bool


def read_network(config: Mapping[str, Any]) -> Network:
    """Read the sizes from a configuration. Raises PackageRefused for a family we cannot check."""
    family, classes = config.get("model_type"), config.get("architectures")
    if not isinstance(family, str) or classes != [CLASSES.get(family)]:
        raise PackageRefused(
            where="config.json",
            rule=f"describes {classes} of type {family!r}, whose tensors cannot be checked",
            fix=f"use one of {', '.join(CLASSES.values())}",
        )
    if config.get("quantization_config") is not None:
        raise PackageRefused(
            where="config.json",
            rule="says that the weights are quantised already, which cannot be checked yet",
            fix="log the model in the dtype it was trained in; name quantization in the deployment",
        )
    if config.get("use_sliding_window"):
        raise PackageRefused(
            where="config.json",
            rule="switches sliding windows on; the engines treat them differently",
            fix="train and save the model with use_sliding_window false",
        )
    heads, hidden = _size(config, "num_attention_heads"), _size(config, "hidden_size")
    groups = _size(config, "num_key_value_heads", default=heads if family == "llama" else None)
    head_dim = _size(config, "head_dim", default=None if family == "qwen3" else hidden // heads)
    if heads % groups:
        rule = f"has {heads} attention heads that {groups} key-value heads do not divide"
        raise PackageRefused(where="config.json", rule=rule, fix=_SAVE)
    return Network(
        architecture=CLASSES[family],
        model_type=family,
        num_hidden_layers=_size(config, "num_hidden_layers"),
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=head_dim,
        hidden_size=hidden,
        intermediate_size=_size(config, "intermediate_size"),
        vocab_size=_size(config, "vocab_size"),
        max_position_embeddings=_size(config, "max_position_embeddings"),
        tied_embeddings=_flag(config, "tie_word_embeddings"),
        attention_bias=_flag(config, "attention_bias"),
        mlp_bias=family == "llama" and _flag(config, "mlp_bias"),
    )


def expected_tensors(network: Network) -> dict[str, Shape]:
    """Name -> shape of every tensor that must be there; a tied output layer is not among them."""
    hidden, inner, head = network.hidden_size, network.intermediate_size, network.head_dim
    queries, values = network.num_attention_heads * head, network.num_key_value_heads * head
    layer: dict[str, Shape] = {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (queries, hidden),
        "self_attn.k_proj.weight": (values, hidden),
        "self_attn.v_proj.weight": (values, hidden),
        "self_attn.o_proj.weight": (hidden, queries),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    if network.model_type == "qwen3":
        layer |= {"self_attn.q_norm.weight": (head,), "self_attn.k_norm.weight": (head,)}
    biased = ["q_proj", "k_proj", "v_proj"] if network.model_type == "qwen2" else []
    if network.attention_bias and not biased:
        biased = ["q_proj", "k_proj", "v_proj", "o_proj"]
    biases = [f"self_attn.{name}" for name in biased]
    biases += ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"] if network.mlp_bias else []
    layer |= {f"{name}.bias": layer[f"{name}.weight"][:1] for name in biases}
    every: dict[str, Shape] = {
        EMBEDDING: (network.vocab_size, hidden),
        "model.norm.weight": (hidden,),
    }
    if not network.tied_embeddings:
        every[OUTPUT] = (network.vocab_size, hidden)
    for index in range(network.num_hidden_layers):
        every |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    return every


def check_tensors(network: Network, weights: Weights, *, folder: str = "") -> str:
    """Compare weights with what their configuration asks for; returns their one dtype.

    `folder` goes before the names of files in messages. Raises PackageRefused with the first
    difference in the order missing, extra, misshapen, mixed.
    """
    found = {tensor.name: tensor for tensor in weights.tensors()}
    places = {tensor.name: folder + file for file, held in weights.files.items() for tensor in held}
    expected = expected_tensors(network)
    for name in sorted(set(expected) - set(found)):
        rule = f"lacks {name}, which config.json asks for; an engine would invent it"
        raise PackageRefused(where=folder + ", ".join(sorted(weights.files)), rule=rule, fix=_SAVE)
    if network.tied_embeddings and OUTPUT in found:
        expected[OUTPUT] = expected[EMBEDDING]
    for name in sorted(set(found) - set(expected)):
        rule = f"holds {name}, which config.json does not ask for"
        raise PackageRefused(where=places[name], rule=rule, fix=_SAVE)
    for name, shape in sorted(expected.items()):
        if found[name].shape != shape:
            rule = f"holds {name} as {list(found[name].shape)}, config.json gives {list(shape)}"
            raise PackageRefused(where=places[name], rule=rule, fix=_SAVE)
    return _one_dtype(weights, places)


def check_tied(network: Network, hashes: Mapping[str, str]) -> None:
    """Refuse a tied output layer that is written out and is not the embedding.

    `hashes` are the SHA-256 of each tensor's bytes. Engines read one of the two and ignore the
    other, so they must agree.
    """
    if network.tied_embeddings and hashes.get(OUTPUT, hashes[EMBEDDING]) != hashes[EMBEDDING]:
        rule = "is not the embedding, though config.json ties the two"
        raise PackageRefused(where=OUTPUT, rule=rule, fix=_SAVE)


def count_parameters(network: Network, weights: Weights) -> int:
    """How many numbers the model holds; a tied output layer counts once."""
    total = 0
    for tensor in weights.tensors():
        if tensor.name == OUTPUT and network.tied_embeddings:
            continue
        count = 1
        for dimension in tensor.shape:
            count *= dimension
        total += count
    return total


def _one_dtype(weights: Weights, places: Mapping[str, str]) -> str:
    dtype = ""
    for tensor in weights.tensors():
        dtype = dtype or tensor.dtype
        if tensor.dtype != dtype or dtype not in PLAIN_DTYPES:
            wanted = dtype if dtype in PLAIN_DTYPES else " or ".join(PLAIN_DTYPES)
            rule = f"holds {tensor.name} as {tensor.dtype}, expected {wanted}"
            raise PackageRefused(where=places[tensor.name], rule=rule, fix=_SAVE)
    return dtype


def _size(config: Mapping[str, Any], key: str, *, default: int | None = None) -> int:
    value = config.get(key, default)
    if type(value) is not int or value <= 0 or value >= 2**31:
        rule = f"gives {key} as {value!r}, expected a positive whole number"
        raise PackageRefused(where="config.json", rule=rule, fix=_SAVE)
    return value


def _flag(config: Mapping[str, Any], key: str) -> bool:
    value = config.get(key, False)
    if not isinstance(value, bool):
        rule = f"gives {key} as {value!r}, expected true or false"
        raise PackageRefused(where="config.json", rule=rule, fix=_SAVE)
    return value
