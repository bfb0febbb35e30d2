"""The tokenizer: tokenizer.json holds all of it, and every reader is told to take it from there.

A class with rules of its own may rebuild the splitting from the vocabulary and lose what
tokenizer.json says, so the class is always the plain one that transformers 4.57 and 5.x both know.
Files that repeat parts of tokenizer.json are compared with it and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model_packaging.errors import PackageRefused
from model_packaging.package.dialect import refuse_code

CLASS = "PreTrainedTokenizerFast"
NAMED = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
# For this family transformers 5 builds the tokenizer anew from vocabulary and merges, with these
# rules, whatever class and rules the files name. transformers 4.57 takes tokenizer.json as it is.
REBUILT_FAMILY = "qwen2"
QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LISTS = ("additional_special_tokens", "extra_special_tokens")
_MACHINE_KEYS = (
    "backend",
    "is_local",
    "local_files_only",
    "name_or_path",
    "special_tokens_map_file",
    "tokenizer_file",
    "chat_template",
    "added_tokens_decoder",
)
_SAVE = "save the tokenizer again with save_pretrained"


@dataclass(frozen=True, kw_only=True)
class TokenizerFiles:
    """What came in, parsed; the last two are None where there was no such file."""

    tokenizer: Mapping[str, Any]
    config: Mapping[str, Any]
    special_tokens_map: Mapping[str, Any] | None
    added_tokens: Mapping[str, Any] | None


def token_ids_of(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """Text -> id of every token of a tokenizer.json. Raises PackageRefused."""
    where = "tokenizer.json"
    vocabulary = (tokenizer.get("model") or {}).get("vocab")
    if isinstance(vocabulary, list):  # Unigram: pairs of text and score, in the order of the ids
        vocabulary = {entry[0]: index for index, entry in enumerate(vocabulary)}
    if not isinstance(vocabulary, dict) or not all(type(v) is int for v in vocabulary.values()):
        rule = "holds no vocabulary of tokens and ids"
        raise PackageRefused(where=where, rule=rule, fix=_SAVE)
    ids: dict[str, int] = dict(vocabulary)
    for entry in tokenizer.get("added_tokens") or []:
        if ids.setdefault(entry["content"], entry["id"]) != entry["id"]:
            rule = f"gives {entry['content']!r} two ids, {ids[entry['content']]} and {entry['id']}"
            raise PackageRefused(where=where, rule=rule, fix=_SAVE)
    if len(set(ids.values())) != len(ids):
        raise PackageRefused(where=where, rule="gives one id to two tokens", fix=_SAVE)
    for key in ("truncation", "padding"):
        if tokenizer.get(key) is not None:
            rule = f"has {key} switched on, which would change every long or short prompt"
            fix = f"call the tokenizer's no_{key}() and {_SAVE}"
            raise PackageRefused(where=where, rule=rule, fix=fix)
    return ids


def check_split_rule(tokenizer: Mapping[str, Any], *, family: str) -> None:
    """Refuse a split rule of its own where a reader would replace it. Raises PackageRefused."""
    if family != REBUILT_FAMILY:
        return
    steps = (tokenizer.get("pre_tokenizer") or {}).get("pretokenizers") or [{}]
    rule = (steps[0].get("pattern") or {}).get("Regex")
    normalizer = (tokenizer.get("normalizer") or {}).get("type")
    if rule != QWEN_SPLIT or normalizer != "NFC":
        raise PackageRefused(
            where="tokenizer.json",
            rule=f"splits text in its own way; for {family} some readers use Qwen's rule instead",
            fix="train with Qwen's own tokenizer, or save the model as another family",
        )


def portable_tokenizer_config(files: TokenizerFiles, ids: Mapping[str, int]) -> dict[str, Any]:
    """tokenizer_config.json for every reader. Raises PackageRefused where files contradict."""
    where = "tokenizer_config.json"
    refuse_code(files.config, where)
    portable = {key: value for key, value in files.config.items() if key not in _MACHINE_KEYS}
    portable["tokenizer_class"] = CLASS
    _fold_special_tokens(portable, files.special_tokens_map or {})
    for name in NAMED:
        text = token_text(portable.get(name))
        if text is not None and text not in ids:
            rule = f"names {text!r} as {name}, which tokenizer.json does not hold"
            raise PackageRefused(where=where, rule=rule, fix=_SAVE)
    repeated = dict(files.added_tokens or {})
    for key, entry in (files.config.get("added_tokens_decoder") or {}).items():
        repeated[token_text(entry) or ""] = int(key)
    for text, identifier in repeated.items():
        if ids.get(text) != identifier:
            rule = f"gives {text!r} the id {identifier}, tokenizer.json gives {ids.get(text)}"
            source = "added_tokens.json" if text in (files.added_tokens or {}) else where
            raise PackageRefused(where=source, rule=rule, fix=_SAVE)
    return portable


def _fold_special_tokens(portable: dict[str, Any], repeated: Mapping[str, Any]) -> None:
    for name in NAMED:
        ours, theirs = token_text(portable.get(name)), token_text(repeated.get(name))
        if ours is not None and theirs not in (None, ours):
            rule = f"gives {name} as {theirs!r}, tokenizer_config.json as {ours!r}"
            raise PackageRefused(where="special_tokens_map.json", rule=rule, fix=_SAVE)
        if ours is None and theirs is not None:
            portable[name] = theirs
    lists = {
        tuple(token_text(token) for token in source[key])
        for source in (portable, repeated)
        for key in _LISTS
        if isinstance(source.get(key), list) and source[key]
    }
    if len(lists) > 1:
        rule = "and special_tokens_map.json list different special tokens"
        raise PackageRefused(where="tokenizer_config.json", rule=rule, fix=_SAVE)
    # 5.x reads this key too; 4.57 stops at a list under the newer one.
    portable.pop("additional_special_tokens", None)
    if not isinstance(portable.get("extra_special_tokens"), dict):
        portable.pop("extra_special_tokens", None)
    if lists:
        portable["additional_special_tokens"] = list(lists.pop())


def token_text(entry: Any) -> str | None:
    """The text of a special token, which is written as a string or as a map with `content`."""
    text = entry.get("content") if isinstance(entry, Mapping) else entry
    return text if isinstance(text, str) else None
