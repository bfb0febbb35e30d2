"""Which of the ways to lay out a model this is.

    transformers            model/ + components/tokenizer/ [+ extra_files/] beside an MLmodel file
    huggingface_directory   config.json, weights and tokenizer in one folder, logged as artifacts

LoRA adapters, models saved by reference and pyfunc models are recognised and refused with the next
step: guessing a base or opening a pickle would put weights into a package that nobody logged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from model_packaging.errors import PackageRefused

Kind = Literal["transformers", "huggingface_directory"]
_FULL = (
    "log the full model: mlflow.transformers.log_model({'model': model, 'tokenizer': tokenizer})"
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the parts lie, as folders relative to the download ("" is the download itself)."""

    kind: Kind
    model: str
    tokenizer: str
    extra: str


def layout_of(paths: Collection[str], *, mlmodel: bytes | None) -> Layout:
    """Recognise a layout from its file names and its MLmodel file.

    Raises PackageRefused for a layout that cannot become a package, with the reason.
    """
    described = _read_mlmodel(mlmodel) if mlmodel is not None else {}
    flavors = described.get("flavors") or {}
    transformers = flavors.get("transformers") or {}
    _refuse_adapters(paths, transformers)
    if described:
        _refuse_references(transformers, flavors)
        _refuse_prompt_template(described)
        layout = Layout(
            kind="transformers",
            model="model/",
            tokenizer="components/tokenizer/",
            extra="extra_files/",
        )
    else:
        layout = Layout(kind="huggingface_directory", model="", tokenizer="", extra="extra_files/")
    for path, what in (
        (layout.model + "config.json", "the model's configuration"),
        (layout.tokenizer + "tokenizer.json", "the tokenizer"),
        (layout.tokenizer + "tokenizer_config.json", "the tokenizer's configuration"),
    ):
        if path not in paths:
            fix = _FULL if described else "log the whole directory that save_pretrained wrote"
            raise PackageRefused(where=path, rule=f"is missing: it is {what}", fix=fix)
    return layout


def layout_of_directory(directory: Path, paths: Collection[str]) -> Layout:
    """`layout_of` for files that are on disk."""
    mlmodel = (directory / "MLmodel").read_bytes() if "MLmodel" in paths else None
    return layout_of(paths, mlmodel=mlmodel)


def _read_mlmodel(raw: bytes) -> Mapping[str, Any]:
    try:
        described = yaml.safe_load(raw)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        described = error
    if not isinstance(described, dict) or not isinstance(described.get("flavors"), dict):
        rule = "is not the YAML map with flavors that MLflow writes"
        raise PackageRefused(where="MLmodel", rule=rule, fix="log the model again")
    return described


def _refuse_adapters(paths: Collection[str], transformers: Mapping[str, Any]) -> None:
    adapters = [path for path in paths if path.split("/")[-1].startswith("adapter_")]
    named = transformers.get("peft_adaptor")
    if not adapters and not named and not any(path.startswith("peft/") for path in paths):
        return
    # MLflow also writes a base beside an adapter, with the adapter's wrappers in its tensor names;
    # loaded as it stands, it answers from layers that were initialised at random.
    raise PackageRefused(
        where=min(adapters, default=f"{named or 'peft'}/"),
        rule="belongs to a LoRA adapter, which is not a model without the base it was trained on",
        fix=f"merge the adapter into its base (merge_and_unload), then {_FULL}",
    )


def _refuse_references(transformers: Mapping[str, Any], flavors: Mapping[str, Any]) -> None:
    if not transformers:
        pyfunc = flavors.get("python_function") or {}
        flavor = str(pyfunc.get("loader_module") or ", ".join(sorted(flavors)) or "none")
        raise PackageRefused(
            where="MLmodel",
            rule=f"was written by {flavor}: such a model is Python code around weights",
            fix=_FULL,
        )
    if not transformers.get("model_binary"):
        name = transformers.get("source_model_name", "another model")
        raise PackageRefused(
            where="MLmodel",
            rule=f"only refers to the weights of {name}; the registry does not hold them",
            fix=f"{_FULL} with save_pretrained=True",
        )


def _refuse_prompt_template(described: Mapping[str, Any]) -> None:
    metadata = described.get("metadata") or {}
    if metadata.get("prompt_template"):
        raise PackageRefused(
            where="MLmodel",
            rule="carries a prompt_template, which no engine applies",
            fix="put it into the tokenizer's chat template and log the model again without it",
        )
