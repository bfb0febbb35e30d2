"""config.json and generation_config.json in a form that transformers 4.57 and 5.x read alike.

The two write different files, and some readings differ without a word: 4.57 does not know
`rope_parameters` and turns to a base frequency of 10,000. So each fact stands here in both
spellings, and what only described the machine that saved it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from model_packaging.errors import PackageRefused

_MACHINE_KEYS = ("_name_or_path", "_from_model_config", "_attn_implementation_autoset")
_SAVE = "save the model again with save_pretrained"


def portable_config(config: Mapping[str, Any], *, dtype: str) -> dict[str, Any]:
    """The configuration for weights of `dtype` (bfloat16, ...).

    Raises PackageRefused where the file contradicts itself or the weights, or asks for code.
    """
    refuse_code(config, "config.json")
    portable = {key: value for key, value in config.items() if key not in _MACHINE_KEYS}
    for key in ("dtype", "torch_dtype"):
        if portable.get(key) not in (None, dtype):
            rule = f"gives {key} {portable[key]}, the weights are {dtype}"
            fix = f"{_SAVE} in the dtype it shall be served in"
            raise PackageRefused(where="config.json", rule=rule, fix=fix)
        portable[key] = dtype
    # Each library falls back to a default of its own where this is silent.
    portable["tie_word_embeddings"] = bool(config.get("tie_word_embeddings", False))
    portable |= _positions(config)
    return portable


def _positions(config: Mapping[str, Any]) -> dict[str, Any]:
    newer, older = config.get("rope_parameters") or {}, dict(config.get("rope_scaling") or {})
    if not isinstance(newer, Mapping) or any(
        isinstance(value, Mapping) for value in newer.values()
    ):
        raise _positions_refused("gives rope_parameters that are not one flat map")
    if "type" in older:
        older.setdefault("rope_type", older.pop("type"))
    parameters = {**older, **newer}
    parameters.setdefault("rope_type", "default")
    theta = parameters.setdefault("rope_theta", config.get("rope_theta"))
    if isinstance(theta, bool) or not isinstance(theta, int | float) or theta <= 0:
        raise _positions_refused("states no rope_theta; libraries differ in what they then assume")
    if config.get("rope_theta", theta) != theta:
        raise _positions_refused(f"gives rope_theta {config['rope_theta']} and {theta}")
    for key, value in older.items():
        if parameters[key] != value:
            raise _positions_refused(f"gives {key} as {value!r} and as {parameters[key]!r}")
    scaling = {key: value for key, value in parameters.items() if key != "rope_theta"}
    plain = scaling == {"rope_type": "default"}
    return {
        "rope_theta": theta,
        "rope_parameters": parameters,
        "rope_scaling": None if plain else scaling,
    }


def _positions_refused(rule: str) -> PackageRefused:
    return PackageRefused(where="config.json", rule=rule, fix=f"{_SAVE} and compare the rope keys")


def portable_generation_config(
    generation: Mapping[str, Any] | None, *, config: Mapping[str, Any], end_token: int
) -> dict[str, Any]:
    """The generation defaults; made from the configuration where the model came without.

    Its `eos_token_id` is always a list that holds `end_token`, the tokenizer's end of turn.
    Raises PackageRefused where the two disagree: the engine would not stop where training did.
    """
    given = generation is not None and generation.get("eos_token_id") is not None
    source: Mapping[str, Any] = generation if given and generation is not None else config
    ends = token_ids(source.get("eos_token_id"))
    where = "generation_config.json" if given else "config.json"
    if ends and end_token not in ends:
        raise PackageRefused(
            where=where,
            rule=f"ends generation at {ends}, the tokenizer's end of turn is {end_token}",
            fix="set eos_token in the tokenizer and eos_token_id in the model to the same token",
        )
    portable = dict(generation or {})
    refuse_code(portable, "generation_config.json")
    for key in _MACHINE_KEYS:
        portable.pop(key, None)
    # The end of turn comes first, since readers that keep one id keep the first.
    portable["eos_token_id"] = [end_token, *sorted(set(ends) - {end_token})]
    if portable.get("pad_token_id") is None and config.get("pad_token_id") is not None:
        portable["pad_token_id"] = config["pad_token_id"]
    return portable


def token_ids(value: Any) -> list[int]:
    """One id, several or none, as a list. Raises PackageRefused for anything else."""
    if value is None:
        return []
    ids = [value] if type(value) is int else value
    if not isinstance(ids, list) or not all(type(one) is int and one >= 0 for one in ids):
        rule = f"gives eos_token_id as {value!r}, expected token ids"
        raise PackageRefused(where="config.json", rule=rule, fix=_SAVE)
    return list(ids)


def refuse_code(settings: Mapping[str, Any], where: str) -> None:
    """Raise PackageRefused for settings that name code to import while loading."""
    for key in ("auto_map", "custom_pipelines", "trust_remote_code"):
        if settings.get(key):
            rule = f"holds {key}: loading the model would run code that came with it"
            fix = "save the model with a class that transformers itself has, without custom code"
            raise PackageRefused(where=where, rule=rule, fix=fix)


def pretty_json(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """How JSON files of a model are written: sorted, indented, the same every time."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
