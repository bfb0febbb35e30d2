"""tokenizer.json is the truth; what repeats it must agree and is left out."""

from __future__ import annotations

from typing import Any

import pytest

from model_packaging.errors import PackageRefused
from model_packaging.package.tokenizer import (
    QWEN_SPLIT,
    TokenizerFiles,
    check_split_rule,
    portable_tokenizer_config,
    token_ids_of,
)
from tests.packaging.tiny_model import END_OF_TURN, FIRST_SPECIAL, VOCABULARY, tokenizer

CONFIG = {"eos_token": "<|im_end|>", "tokenizer_class": "TokenizersBackend"}


def portable(
    config: dict[str, Any],
    *,
    special_tokens_map: dict[str, Any] | None = None,
    added_tokens: dict[str, Any] | None = None,
) -> dict[str, Any]:
    files = TokenizerFiles(
        tokenizer=tokenizer(),
        config=config,
        special_tokens_map=special_tokens_map,
        added_tokens=added_tokens,
    )
    return portable_tokenizer_config(files, token_ids_of(files.tokenizer))


def refusal(config: dict[str, Any], **more: dict[str, Any]) -> str:
    with pytest.raises(PackageRefused) as caught:
        portable(config, **more)
    return str(caught.value)


def test_every_token_has_one_id():
    ids = token_ids_of(tokenizer())
    assert len(ids) == VOCABULARY
    assert ids["<|im_end|>"] == END_OF_TURN


def test_a_unigram_vocabulary_is_numbered_by_its_order():
    assert token_ids_of({"model": {"vocab": [["a", -1.0], ["b", -2.0]]}}) == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"model": {}}, "holds no vocabulary of tokens and ids"),
        ({"model": {"vocab": {"a": "0"}}}, "holds no vocabulary of tokens and ids"),
        ({"model": {"vocab": {"a": 0, "b": 0}}}, "gives one id to two tokens"),
        ({"added_tokens": [{"content": "a", "id": 9}]}, "gives 'a' two ids, "),
        ({"truncation": {"max_length": 2048}}, "has truncation switched on"),
        ({"padding": {"strategy": "BatchLongest"}}, "has padding switched on"),
    ],
)
def test_a_tokenizer_that_is_not_plain_is_refused(change, rule):
    with pytest.raises(PackageRefused) as caught:
        token_ids_of(tokenizer() | change)
    assert str(caught.value).startswith(f"tokenizer.json: {rule}")


@pytest.mark.parametrize(
    "class_name", ["TokenizersBackend", "Qwen2Tokenizer", "Qwen2TokenizerFast", None]
)
def test_the_class_is_the_one_that_takes_tokenizer_json_as_it_is(class_name):
    assert portable(CONFIG | {"tokenizer_class": class_name})["tokenizer_class"] == (
        "PreTrainedTokenizerFast"
    )


def test_what_only_described_the_saving_machine_is_left_out():
    kept = portable(
        CONFIG
        | {
            "backend": "tokenizers",
            "is_local": True,
            "local_files_only": False,
            "name_or_path": "/tmp/model",
            "model_max_length": 512,
        }
    )
    assert set(kept) == {"eos_token", "tokenizer_class", "model_max_length"}


@pytest.mark.parametrize("key", ["extra_special_tokens", "additional_special_tokens"])
@pytest.mark.parametrize("entry", ["<|im_start|>", {"content": "<|im_start|>", "lstrip": False}])
def test_special_tokens_become_a_list_that_both_read(key, entry):
    kept = portable(CONFIG | {key: [entry]})
    assert kept["additional_special_tokens"] == ["<|im_start|>"]
    assert "extra_special_tokens" not in kept


def test_empty_lists_of_special_tokens_are_left_out():
    kept = portable(CONFIG | {"extra_special_tokens": [], "additional_special_tokens": []})
    assert not {"extra_special_tokens", "additional_special_tokens"} & set(kept)


def test_named_special_tokens_stay_named():
    named = {"image_token": "<think>"}
    assert portable(CONFIG | {"extra_special_tokens": named})["extra_special_tokens"] == named


def test_lists_that_differ_are_refused():
    assert refusal(
        CONFIG | {"extra_special_tokens": ["<think>"]},
        special_tokens_map={"additional_special_tokens": ["</think>"]},
    ).startswith("tokenizer_config.json: and special_tokens_map.json list different")


def test_the_special_tokens_map_is_folded_in():
    kept = portable(
        {"tokenizer_class": "x"},
        special_tokens_map={"eos_token": {"content": "<|im_end|>"}, "pad_token": "<|endoftext|>"},
    )
    assert (kept["eos_token"], kept["pad_token"]) == ("<|im_end|>", "<|endoftext|>")


def test_a_special_tokens_map_that_differs_is_refused():
    assert refusal(CONFIG, special_tokens_map={"eos_token": "<|endoftext|>"}).startswith(
        "special_tokens_map.json: gives eos_token as '<|endoftext|>', tokenizer_config.json as "
    )


def test_a_special_token_that_no_tokenizer_holds_is_refused():
    assert refusal({"eos_token": "</s>"}).startswith(
        "tokenizer_config.json: names '</s>' as eos_token, which tokenizer.json does not hold"
    )


def test_added_tokens_that_agree_are_left_out():
    decoder = {str(FIRST_SPECIAL): {"content": "<|endoftext|>", "special": True}}
    kept = portable(
        CONFIG | {"added_tokens_decoder": decoder}, added_tokens={"<|im_end|>": END_OF_TURN}
    )
    assert "added_tokens_decoder" not in kept


def test_added_tokens_that_differ_are_refused():
    assert refusal(CONFIG, added_tokens={"<|im_end|>": 5}).startswith(
        f"added_tokens.json: gives '<|im_end|>' the id 5, tokenizer.json gives {END_OF_TURN}"
    )
    decoder = {"5": {"content": "<|im_end|>"}}
    assert refusal(CONFIG | {"added_tokens_decoder": decoder}).startswith(
        "tokenizer_config.json: gives '<|im_end|>' the id 5"
    )


def test_code_is_refused():
    assert refusal(CONFIG | {"auto_map": {"AutoTokenizer": ["t.T", None]}}).startswith(
        "tokenizer_config.json: holds auto_map"
    )


def test_a_split_rule_of_its_own_is_kept_where_readers_keep_it():
    check_split_rule(tokenizer("qwen3"), family="qwen3")
    check_split_rule(tokenizer("llama"), family="llama")
    check_split_rule(tokenizer("qwen2"), family="qwen2")


@pytest.mark.parametrize(
    "change", [{"pre_tokenizer": tokenizer("qwen3")["pre_tokenizer"]}, {"normalizer": None}]
)
def test_a_split_rule_that_some_readers_replace_is_refused(change):
    with pytest.raises(PackageRefused) as caught:
        check_split_rule(tokenizer("qwen2") | change, family="qwen2")
    assert str(caught.value).startswith(
        "tokenizer.json: splits text in its own way; for qwen2 some readers use Qwen's rule instead"
    )
    assert QWEN_SPLIT not in str(caught.value)
