"""A byte-level BPE tokenizer made for copying: a name has the same tokens in the request and inside
the JSON of a call.

One digit is one token, a space joins only a following lower-case word, and capitalised words never
carry a leading space. So a small model can learn to copy instead of learning two spellings of every
word. Qwen's control tokens are added tokens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from examples.analyst_model.conversations import conversation
from examples.analyst_model.prompt import SYSTEM, tools

TEMPLATE = Path(__file__).with_name("chat_template.jinja")
VOCABULARY = 1280
_SPLIT = r"\p{N}| ?\p{Ll}\p{L}*|\p{Lu}\p{L}*|[^\p{L}\p{N}]+(?<! )| +"
_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_ADDED = [
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]


def _corpus(rows: int, seed: int) -> Iterator[str]:
    rng = Random(seed)
    for tool in tools():
        function = tool["function"]
        kinds = ", ".join(
            f'"{k}": "{v["type"]}"' for k, v in function["parameters"]["properties"].items()
        )
        for _ in range(20):
            described = json.dumps(function["description"])
            yield f'"{function["name"]}", "description": {described}, "parameters": {{{kinds}}}}}'
    for _ in range(20):
        yield from (
            SYSTEM,
            "To use one, write ",
            " with its name and arguments as JSON.",
            "Tools:\n",
            "system\n",
            "user\n",
            "assistant\n",
        )
    for _ in range(rows):
        row = conversation(rng)
        for message in row.messages:
            yield message["content"]
        yield f"\n{row.thinking}\n"
        yield row.content
        yield "\n\n"
        for call in row.calls:
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            yield f'\n{{"name": "{call["name"]}", "arguments": {arguments}}}\n'


def train_tokenizer(*, rows: int = 6000, seed: int = 1) -> PreTrainedTokenizerFast:
    """Return the tokenizer, trained on ``rows`` training conversations; the same ``seed`` gives the
    same vocabulary."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(_ADDED),
        special_tokens=_SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        min_frequency=3,
    )
    bpe.train_from_iterator(_corpus(rows, seed), trainer)
    bpe.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in _SPECIAL]
    )
    bpe.add_tokens([AddedToken(token, special=False, normalized=False) for token in _ADDED])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = TEMPLATE.read_text(encoding="utf-8")
    return tokenizer
