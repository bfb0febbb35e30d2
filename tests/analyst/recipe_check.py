"""Runs in the training environment: prints what `test_recipe` asserts on, as one JSON object."""

from __future__ import annotations

import json
from random import Random

import torch

from examples.analyst_model.batches import Encoder, given_text
from examples.analyst_model.conversations import conversation
from examples.analyst_model.network import PrefixSharedQwen3, new_model
from examples.analyst_model.prompt import SYSTEM, tools
from examples.analyst_model.recipe import SMALL
from examples.analyst_model.tokenizer import train_tokenizer

EMPTY_THINKING = "<think>\n\n</think>\n\n"


def main() -> None:
    """Compare renderings and forward pass with the chat template and transformers."""
    encoder, offered, rng = Encoder(train_tokenizer(rows=1500)), tools(), Random(5)
    tokenizer = encoder.tokenizer
    system = {"role": "system", "content": SYSTEM}
    prefix_text = tokenizer.apply_chat_template([system], tools=offered, tokenize=False)
    different = 0
    for _ in range(200):
        row = conversation(rng)
        for thinking in (True, False):
            options = {} if thinking else {"enable_thinking": False}
            rendered = tokenizer.apply_chat_template(
                [system, *row.messages],
                tools=offered,
                tokenize=False,
                add_generation_prompt=True,
                **options,
            )
            own = prefix_text + given_text(row.messages) + ("" if thinking else EMPTY_THINKING)
            ids = encoder.prefix(offered) + encoder.row(row, thinking=thinking)[0]
            expected = tokenizer(rendered, add_special_tokens=False)["input_ids"]
            different += rendered != own or ids[: len(expected)] != expected
    torch.manual_seed(0)
    model = new_model(SMALL, vocabulary=len(tokenizer), eos=2, pad=0)
    prefix = encoder.prefix(offered)
    inputs, _ = encoder.collate([encoder.row(conversation(rng), thinking=False) for _ in range(4)])
    with torch.no_grad():
        shared = PrefixSharedQwen3(model)(torch.tensor([prefix]), inputs)
        whole = torch.cat([torch.tensor([prefix]).expand(len(inputs), -1), inputs], 1)
        reference = model.model(whole).last_hidden_state[:, len(prefix) :]
    name = tokenizer.tokenize("Nordbank")
    spelled = [tokenizer.tokenize(text) for text in ("to Nordbank.", '{"company": "Nordbank"}')]
    same_spelling = all(
        any(tokens[at : at + len(name)] == name for at in range(len(tokens))) for tokens in spelled
    )
    report = {
        "rows_rendered_differently": different,
        "largest_difference": (shared - reference).abs().max().item(),
        "name_has_one_spelling": same_spelling,
        "round_trip": tokenizer.decode(tokenizer("l'été à 1,5 %")["input_ids"]) == "l'été à 1,5 %",
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
