"""Tiny models with random weights, written byte by byte: no torch, no safetensors library.

`write_model` writes what save_pretrained writes, `as_logged` arranges it as MLflow logs it. A
directory made here is a real model: transformers and vLLM load it.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from model_packaging.package.tokenizer import QWEN_SPLIT

Family = Literal["qwen3", "qwen2", "llama"]
CLASSES = {"qwen3": "Qwen3", "qwen2": "Qwen2", "llama": "Llama"}
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
ADDED = ("<tool_call>", "</tool_call>", "<think>", "</think>")
# One merge, of a space and a capital: Qwen's split rule would let it happen, ours never.
MERGED = "\u0120E"
FIRST_SPECIAL = 257
END_OF_TURN = FIRST_SPECIAL + SPECIAL.index("<|im_end|>")
VOCABULARY = FIRST_SPECIAL + len(SPECIAL) + len(ADDED)
INDEX = "model.safetensors.index.json"

TEMPLATE = """\
{%- if messages[0].role == 'system' or tools -%}
<|im_start|>system
{{ messages[0].content if messages[0].role == 'system' else '' }}
{%- for tool in tools or [] %}

{{ tool.function | tojson }}
{%- endfor %}<|im_end|>
{% endif -%}
{%- for message in messages if message.role != 'system' -%}
<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor -%}
<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}"""

MLMODEL = """\
flavors:
  python_function:
    loader_module: mlflow.transformers
  transformers:
    components:
    - tokenizer
    instance_type: TextGenerationPipeline
    model_binary: model
    pipeline_model_type: Qwen3ForCausalLM
    source_model_name: tiny
    task: text-generation
    torch_dtype: torch.bfloat16
    transformers_version: 5.19.0
mlflow_version: 3.17.2
"""


@dataclass(frozen=True, kw_only=True)
class RawTensor:
    """A tensor as it lies in a file."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


def safetensors_bytes(
    tensors: Mapping[str, RawTensor], *, metadata: Mapping[str, str] | None = None
) -> bytes:
    """A safetensors file with the tensors in the order given."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    position = 0
    for name, tensor in tensors.items():
        end = position + len(tensor.data)
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    return with_header(json.dumps(header), b"".join(tensor.data for tensor in tensors.values()))


def with_header(header: str, data: bytes) -> bytes:
    """A file with any header at all, padded with spaces to eight bytes as writers do."""
    raw = header.encode()
    raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw)) + raw + data


def configuration(family: Family = "qwen3", *, tied: bool = True) -> dict[str, Any]:
    """config.json as transformers 5 writes it."""
    return {
        "architectures": [f"{CLASSES[family]}ForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": None,
        "dtype": "bfloat16",
        "eos_token_id": END_OF_TURN,
        "head_dim": 8,
        "hidden_act": "silu",
        "hidden_size": 16,
        "initializer_range": 0.02,
        "intermediate_size": 24,
        "max_position_embeddings": 512,
        "model_type": family,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "pad_token_id": FIRST_SPECIAL,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 5_000_000.0, "rope_type": "default"},
        "tie_word_embeddings": tied,
        "transformers_version": "5.19.0",
        "use_cache": True,
        "vocab_size": VOCABULARY,
        **({"mlp_bias": False} if family == "llama" else {}),
        **({"use_sliding_window": False, "sliding_window": None} if family != "llama" else {}),
    }


def shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Name -> shape of the tensors, spelled out by hand for the three families."""
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries = config["num_attention_heads"] * head
    values = config["num_key_value_heads"] * head
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config["vocab_size"], hidden),
        "model.norm.weight": (hidden,),
    }
    for index in range(config["num_hidden_layers"]):
        layer = f"model.layers.{index}."
        found[layer + "input_layernorm.weight"] = (hidden,)
        found[layer + "post_attention_layernorm.weight"] = (hidden,)
        found[layer + "self_attn.q_proj.weight"] = (queries, hidden)
        found[layer + "self_attn.k_proj.weight"] = (values, hidden)
        found[layer + "self_attn.v_proj.weight"] = (values, hidden)
        found[layer + "self_attn.o_proj.weight"] = (hidden, queries)
        found[layer + "mlp.gate_proj.weight"] = (inner, hidden)
        found[layer + "mlp.up_proj.weight"] = (inner, hidden)
        found[layer + "mlp.down_proj.weight"] = (hidden, inner)
        if config["model_type"] == "qwen3":
            found[layer + "self_attn.q_norm.weight"] = (head,)
            found[layer + "self_attn.k_norm.weight"] = (head,)
        if config["model_type"] == "qwen2":
            found[layer + "self_attn.q_proj.bias"] = (queries,)
            found[layer + "self_attn.k_proj.bias"] = (values,)
            found[layer + "self_attn.v_proj.bias"] = (values,)
    if not config["tie_word_embeddings"]:
        found["lm_head.weight"] = (config["vocab_size"], hidden)
    return found


def random_tensors(config: Mapping[str, Any], *, seed: int = 0) -> dict[str, RawTensor]:
    """Small random bfloat16 numbers: exponents around 2**-5, so that a model computes with them."""
    source = random.Random(seed)
    return {
        name: RawTensor(
            dtype="BF16",
            shape=shape,
            data=b"".join(
                struct.pack("<H", source.choice((0x3C80, 0xBC80)) | source.randrange(256))
                for _ in range(math.prod(shape))
            ),
        )
        for name, shape in shapes(config).items()
    }


def write_weights(directory: Path, tensors: Mapping[str, RawTensor], *, shards: int = 1) -> None:
    """One file, or several with an index, replacing any weights that are there."""
    for old in (*directory.glob("*.safetensors"), directory / INDEX):
        old.unlink(missing_ok=True)
    if shards == 1:
        (directory / "model.safetensors").write_bytes(
            safetensors_bytes(tensors, metadata={"format": "pt"})
        )
        return
    names = list(tensors)
    placed: dict[str, str] = {}
    for number in range(shards):
        file = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[number::shards]}
        (directory / file).write_bytes(safetensors_bytes(part, metadata={"format": "pt"}))
        placed |= dict.fromkeys(part, file)
    total = sum(len(tensor.data) for tensor in tensors.values())
    write_json(directory / INDEX, {"metadata": {"total_size": total}, "weight_map": placed})


def write_model(
    directory: Path,
    *,
    family: Family = "qwen3",
    tied: bool = True,
    shards: int = 1,
    seed: int = 0,
) -> Path:
    """A directory as save_pretrained of transformers 5 leaves it, modes included."""
    directory.mkdir(parents=True, exist_ok=True)
    config = configuration(family, tied=tied)
    write_json(directory / "config.json", config)
    write_json(
        directory / "generation_config.json",
        {
            "_from_model_config": True,
            "eos_token_id": [END_OF_TURN, FIRST_SPECIAL],
            "pad_token_id": FIRST_SPECIAL,
            "transformers_version": "5.19.0",
        },
    )
    write_json(directory / "tokenizer.json", tokenizer(family))
    write_json(
        directory / "tokenizer_config.json",
        {
            "backend": "tokenizers",
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "extra_special_tokens": ["<|im_start|>"],
            "is_local": True,
            "local_files_only": False,
            "model_max_length": 512,
            "pad_token": "<|endoftext|>",
            "tokenizer_class": "TokenizersBackend",
        },
    )
    (directory / "chat_template.jinja").write_text(TEMPLATE)
    write_weights(directory, random_tensors(config, seed=seed), shards=shards)
    for weights in directory.glob("*.safetensors"):
        weights.chmod(0o600)
    return directory


def as_logged(model: Path, directory: Path, *, extra: Mapping[str, Any] | None = None) -> Path:
    """A model directory arranged as mlflow.transformers logs it; `extra` are JSON extra_files."""
    inside, tokens = directory / "model", directory / "components" / "tokenizer"
    inside.mkdir(parents=True)
    tokens.mkdir(parents=True)
    for path in model.iterdir():
        of_tokenizer = path.name.startswith(("tokenizer", "chat_template"))
        shutil.copy(path, tokens if of_tokenizer else inside)
    (directory / "MLmodel").write_text(MLMODEL)
    (directory / "requirements.txt").write_text("transformers\n")
    (directory / "LICENSE.txt").write_text("Apache-2.0\n")
    for name, value in (extra or {}).items():
        (directory / "extra_files").mkdir(exist_ok=True)
        write_json(directory / "extra_files" / name, value)
    return directory


def tokenizer(family: Family = "qwen3") -> dict[str, Any]:
    """tokenizer.json: a token per byte, and a split rule that no ready-made class has.

    The family qwen2 cannot have one of its own.
    """
    added = [*SPECIAL, *ADDED]
    rule = QWEN_SPLIT if family == "qwen2" else r"\p{N}| ?\p{Ll}+|\p{Lu}\p{L}*|[^\p{L}\p{N}]+"
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": FIRST_SPECIAL + number,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": text in SPECIAL,
            }
            for number, text in enumerate(added)
        ],
        "normalizer": {"type": "NFC"} if family == "qwen2" else None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": rule},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {
                    "type": "ByteLevel",
                    "add_prefix_space": False,
                    "trim_offsets": True,
                    "use_regex": False,
                },
            ],
        },
        "post_processor": None,
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: number for number, text in enumerate([*_byte_letters(), MERGED])},
            "merges": [list(MERGED)],
        },
    }


def edit_json(path: Path, changes: Mapping[str, Any], *, remove: Iterable[str] = ()) -> None:
    """Change and remove keys of a JSON object on disk."""
    value = json.loads(path.read_text()) | dict(changes)
    for key in remove:
        value.pop(key, None)
    write_json(path, value)


def write_json(path: Path, value: Any) -> None:
    """As save_pretrained writes JSON: indented by two, with a newline at the end."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in byte-level vocabularies, in byte order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, spare = [], 0x100
    for byte in range(256):
        if byte in printable:
            letters.append(chr(byte))
        else:
            letters.append(chr(spare))
            spare += 1
    return letters
