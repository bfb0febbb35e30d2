"""Rows of token ids and the batches made of them: endless fresh conversations, sorted by length,
cut at a token budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from examples.analyst_model import names, values
from examples.analyst_model.answers import Call
from examples.analyst_model.conversations import ALL_TOOLS, Conversation, conversation
from examples.analyst_model.prompt import SYSTEM, tools

Row = tuple[list[int], int]  # token ids, how many of them are given (the rest is to be learned)
Batch = tuple[torch.Tensor, torch.Tensor]  # ids B x S, labels B x S (-100: no loss)
_IGNORED = -100
_THINKING_SHARE = 0.35
_POOL = 640  # rows drawn for one prefix
# Every new shape costs the CPU a compiled kernel, in time and in memory that stays.
_ROW_STEP = 16
_SUBSETS = 8
_EMPTY_THINKING = "<think>\n\n</think>\n\n"


def _calls_text(calls: list[Call]) -> str:
    return "\n".join(
        f'<tool_call>\n{{"name": {json.dumps(call["name"])}, "arguments": '
        f"{json.dumps(call['arguments'], ensure_ascii=False)}}}\n</tool_call>"
        for call in calls
    )


def given_text(messages: list[dict[str, Any]]) -> str:
    """Return what the chat template renders for ``messages`` after system and tools, with the
    generation prompt."""
    text, results = "", ""
    for message in messages:
        if message["role"] == "tool":
            results += f"\n<tool_response>\n{message['content']}\n</tool_response>"
            continue
        if results:
            text, results = f"{text}<|im_start|>user{results}<|im_end|>\n", ""
        calls = [call["function"] for call in message.get("tool_calls", [])]
        text += (
            f"<|im_start|>{message['role']}\n{message['content']}{_calls_text(calls)}<|im_end|>\n"
        )
    if results:
        text += f"<|im_start|>user{results}<|im_end|>\n"
    return f"{text}<|im_start|>assistant\n"


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


class Encoder:
    """Turns conversations into rows with one tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self._backend = tokenizer.backend_tokenizer
        self.pad: int = tokenizer.pad_token_id
        self.size = len(tokenizer)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of ``text``, no special tokens added."""
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def prefix(self, offered: list[dict[str, Any]]) -> list[int]:
        """Return the ids of the system turn that offers ``offered``."""
        system = [{"role": "system", "content": SYSTEM}]
        return self.ids(self.tokenizer.apply_chat_template(system, tools=offered, tokenize=False))

    def row(self, example: Conversation, *, thinking: bool) -> Row:
        """Return the row of ``example``, its target with or without the thinking block."""
        given = given_text(example.messages) + ("" if thinking else _EMPTY_THINKING)
        target = _calls_text(example.calls) or example.content
        if thinking:
            target = f"<think>\n{example.thinking}\n</think>\n\n{target}"
        first = self.ids(given)
        return first + self.ids(target + "<|im_end|>"), len(first)

    def collate(self, rows: list[Row]) -> Batch:
        """Return padded ids and labels; the label at a position is the next token where that token
        is to be learned."""
        longest = _rounded(max(len(ids) for ids, _ in rows), _ROW_STEP)
        inputs = torch.full((len(rows), longest), self.pad)
        labels = torch.full((len(rows), longest), _IGNORED)
        for at, (ids, given) in enumerate(rows):
            inputs[at, : len(ids)] = torch.tensor(ids)
            labels[at, given - 1 : len(ids) - 1] = torch.tensor(ids[given:])
        return inputs, labels

    def task_batches(self, rng: Random, *, tokens: int) -> Iterator[tuple[list[int], Batch]]:
        """Yield (prefix ids, batch) without end.

        Six in ten pools offer all tools in their order, two a shuffled list, two one of a few
        subsets. Every batch of a row length has the same number of rows; what does not fill one
        waits for the next pool that offers everything.
        """
        every = tools()
        subsets = [
            sorted(rng.sample(range(len(every)), rng.randint(3, 7))) for _ in range(_SUBSETS)
        ]
        waiting: list[Row] = []
        while True:
            chance, usable, offered = rng.random(), ALL_TOOLS, every
            if chance > 0.8:
                offered = rng.sample(every, len(every))
            elif chance > 0.6:
                offered = [every[at] for at in rng.choice(subsets)]
                usable = tuple(tool["function"]["name"] for tool in offered)
            rows = [self._fresh(rng, usable) for _ in range(_POOL)]
            if offered is every:
                rows, waiting = rows + waiting, []
            full, left = self._cut(rows, tokens)
            waiting += left
            rng.shuffle(full)
            prefix = self.prefix(offered)
            for batch in full:
                yield prefix, self.collate(batch)

    def _fresh(self, rng: Random, usable: tuple[str, ...]) -> Row:
        return self.row(conversation(rng, tools=usable), thinking=rng.random() < _THINKING_SHARE)

    @staticmethod
    def _cut(rows: list[Row], tokens: int) -> tuple[list[list[Row]], list[Row]]:
        """Return full batches of rows that are alike in length, and the rows that fill none."""
        groups: dict[int, list[Row]] = {}
        for row in rows:
            groups.setdefault(_rounded(len(row[0]), _ROW_STEP), []).append(row)
        full, left = [], []
        for length, group in groups.items():
            size = max(1, tokens // length)
            whole = len(group) // size * size
            full += [group[at : at + size] for at in range(0, whole, size)]
            left += group[whole:]
        return full, left

    def copy_batch(self, rng: Random, *, tokens: int, length: int = 24) -> Batch:
        """Return rows ``x x`` of random tokens or names, dates and amounts: copying is learned
        first, in a few hundred steps."""
        ordinary = range(3, self.size - 6)
        rows: list[Row] = []
        while len(rows) * 2 * length < tokens:
            ids: list[int] = []
            if rng.random() < 0.5:
                ids = [rng.choice(ordinary) for _ in range(length)]
            while len(ids) < length:
                piece = rng.choice(
                    [
                        names.name(rng, "train"),
                        values.date(rng, french=False, split="train")[0],
                        values.amount(rng)[0],
                        str(values.euros(rng)),
                        "/".join(rng.sample(values.CURRENCIES, 2)),
                    ]
                )
                ids += self.ids(rng.choice([" ", " for ", ", "]) + piece)
            ids = ids[:length]
            rows.append((ids + ids, length + 1))
        return self.collate(rows)
