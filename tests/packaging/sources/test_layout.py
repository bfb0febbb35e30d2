"""How MLflow lays out models: two ways are taken, the others are refused with what to do."""

from __future__ import annotations

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.sources.layout import layout_of
from tests.packaging.tiny_model import MLMODEL

FLAT = {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
LOGGED = {
    "MLmodel",
    "model/config.json",
    "model/model.safetensors",
    "components/tokenizer/tokenizer.json",
    "components/tokenizer/tokenizer_config.json",
}
PYFUNC = b"flavors:\n  python_function:\n    loader_module: mlflow.pyfunc.model\n"
REFERENCE = b"flavors:\n  transformers:\n    source_model_name: Qwen/Qwen3-4B\n"


def refusal(paths: set[str], mlmodel: bytes | None) -> str:
    with pytest.raises(PackageRefused) as caught:
        layout_of(paths, mlmodel=mlmodel)
    return str(caught.value)


def test_a_full_save_keeps_model_and_tokenizer_apart():
    layout = layout_of(LOGGED, mlmodel=MLMODEL.encode())
    assert layout.kind == "transformers"
    assert (layout.model, layout.tokenizer) == ("model/", "components/tokenizer/")


def test_a_raw_directory_has_everything_in_one_place():
    layout = layout_of(FLAT, mlmodel=None)
    assert (layout.kind, layout.model, layout.tokenizer) == ("huggingface_directory", "", "")


@pytest.mark.parametrize(
    ("paths", "where"),
    [
        (LOGGED | {"peft/adapter_config.json"}, "peft/adapter_config.json"),
        (FLAT | {"adapter_model.safetensors"}, "adapter_model.safetensors"),
    ],
)
def test_an_adapter_is_refused_with_the_way_to_merge_it(paths, where):
    told = refusal(paths, MLMODEL.encode() if "MLmodel" in paths else None)
    assert told == (
        f"{where}: belongs to a LoRA adapter, which is not a model without the base it was trained "
        "on\n  fix: merge the adapter into its base (merge_and_unload), then log the full model: "
        "mlflow.transformers.log_model({'model': model, 'tokenizer': tokenizer})"
    )


def test_an_adapter_that_only_mlmodel_names_is_refused():
    named = MLMODEL.replace("    task:", "    peft_adaptor: peft\n    task:")
    assert refusal(LOGGED, named.encode()).startswith("peft/: belongs to a LoRA adapter")


def test_a_model_saved_by_reference_is_refused_by_the_name_of_what_is_missing():
    assert refusal({"MLmodel"}, REFERENCE).startswith(
        "MLmodel: only refers to the weights of Qwen/Qwen3-4B; the registry does not hold them\n"
    )
    assert "with save_pretrained=True" in refusal({"MLmodel"}, REFERENCE)


def test_a_pyfunc_model_is_refused_before_its_pickle_is_looked_at():
    assert refusal({"MLmodel", "python_model.pkl"}, PYFUNC).startswith(
        "MLmodel: was written by mlflow.pyfunc.model: such a model is Python code around weights"
    )


def test_a_prompt_template_is_refused_since_no_engine_applies_it():
    templated = MLMODEL + "metadata:\n  prompt_template: 'Q: {prompt}'\n"
    assert refusal(LOGGED, templated.encode()).startswith(
        "MLmodel: carries a prompt_template, which no engine applies\n  fix: put it into"
    )


@pytest.mark.parametrize("raw", [b"", b"[]", b"flavors: x", b"a: [", b"\xff", b"other: {}"])
def test_an_mlmodel_file_that_is_not_mlflows_is_refused(raw):
    assert refusal(LOGGED, raw).startswith("MLmodel: is not the YAML map with flavors")


@pytest.mark.parametrize(
    ("missing", "rule"),
    [
        ("model/config.json", "is missing: it is the model's configuration"),
        ("components/tokenizer/tokenizer.json", "is missing: it is the tokenizer"),
        ("components/tokenizer/tokenizer_config.json", "is missing: it is the tokenizer's conf"),
    ],
)
def test_a_missing_part_is_named(missing, rule):
    assert refusal(LOGGED - {missing}, MLMODEL.encode()).startswith(f"{missing}: {rule}")


def test_an_empty_folder_is_told_what_to_log():
    assert refusal({"notes.txt"}, None) == (
        "config.json: is missing: it is the model's configuration\n"
        "  fix: log the whole directory that save_pretrained wrote"
    )
