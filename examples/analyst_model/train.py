"""Supervised fine-tuning from random weights: ``python -m examples.analyst_model.train small|large
[--out DIR]``.

Fixed seed and number of steps, so the same machine gives the same weights (another thread count or
processor may differ in the last bits). Two-dimensional weights learn with Muon, embedding and norms
with AdamW; a short copy warm-up comes first.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from random import Random

os.environ["TOKENIZERS_PARALLELISM"] = (
    "false"  # the data loop is single-threaded; forking threads only costs
)

import torch
from torch.nn import functional
from transformers import Qwen3ForCausalLM

from examples.analyst_model.batches import Batch, Encoder, Row
from examples.analyst_model.conversations import Conversation, conversation
from examples.analyst_model.network import PrefixSharedQwen3, new_model
from examples.analyst_model.prompt import tools
from examples.analyst_model.recipe import RECIPES, Phase, Recipe
from examples.analyst_model.tokenizer import train_tokenizer

MODES = ("plain", "thinking")
# The number of learned positions is filled up to a multiple: see batches._ROW_STEP.
_LABEL_STEP = 256


class Trainer:
    """One run of a recipe."""

    def __init__(self, recipe: Recipe, *, start: Path | None = None) -> None:
        torch.manual_seed(recipe.seed)
        torch.set_num_threads(recipe.threads)
        self.recipe = recipe
        self.encoder = Encoder(train_tokenizer())
        tokenizer = self.encoder.tokenizer
        self.model = new_model(
            recipe.size,
            vocabulary=len(tokenizer),
            eos=tokenizer.eos_token_id,
            pad=tokenizer.pad_token_id,
        )
        if start is not None:
            saved = Qwen3ForCausalLM.from_pretrained(start, dtype=torch.float32)
            self.model.load_state_dict(saved.state_dict())
        self.network = PrefixSharedQwen3(self.model)
        self.offered = self.encoder.prefix(tools())

    def begin(self, phase: Phase) -> None:
        """Make optimisers that remember nothing."""
        named = list(self.model.named_parameters())
        matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name]
        others = [p for name, p in named if p.ndim != 2 or "embed" in name]
        muon = torch.optim.Muon(
            matrices,
            lr=phase.learning_rate,
            weight_decay=0.05,
            momentum=0.95,
            nesterov=True,
            adjust_lr_fn="match_rms_adamw",
        )
        adam = torch.optim.AdamW(
            others, lr=phase.learning_rate, betas=(0.9, 0.98), weight_decay=0.0
        )
        self.optimizers = (muon, adam)

    def predict(
        self, prefix: list[int], batch: Batch
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return logits and labels at the learned positions (N x vocabulary, N), and their B x S
        mask."""
        inputs, labels = batch
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self.network(torch.tensor([prefix]), inputs)
            learned = labels != -100
            chosen, wanted = hidden[learned], labels[learned]
            filler = -len(chosen) % _LABEL_STEP
            chosen = functional.pad(chosen, (0, 0, 0, filler))
            logits = functional.linear(chosen, self.model.model.embed_tokens.weight).float()
        return logits[: len(wanted)], wanted, learned

    def step(self, rate: float, prefix: list[int], batch: Batch) -> float:
        """Take one optimiser step at a learning rate and return the loss."""
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        logits, labels, _ = self.predict(prefix, batch)
        loss = functional.cross_entropy(logits, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.item()

    @torch.no_grad()
    def exact(self, examples: list[Conversation], *, thinking: bool) -> dict[str, float]:
        """Return the share of rows, per kind, whose every target token is the most likely one: what
        greedy decoding would write."""
        rows: list[tuple[Row, str]] = sorted(
            ((self.encoder.row(e, thinking=thinking), e.kind) for e in examples),
            key=lambda r: len(r[0][0]),
        )
        right: dict[str, list[bool]] = {}
        for at in range(0, len(rows), 40):
            chunk = rows[at : at + 40]
            logits, labels, learned = self.predict(
                self.offered, self.encoder.collate([row for row, _ in chunk])
            )
            wrong = torch.zeros(len(chunk))
            wrong.index_add_(0, learned.nonzero()[:, 0], (logits.argmax(-1) != labels).float())
            for count, (_, kind) in zip(wrong.tolist(), chunk, strict=True):
                right.setdefault(kind, []).append(count == 0)
        return {kind: round(sum(marks) / len(marks), 3) for kind, marks in sorted(right.items())}

    def run(self, number: int) -> list[dict[str, object]]:
        """Train phase `number` with progress on stdout; return its held-out curve."""
        phase, began = self.recipe.phases[number], time.monotonic()
        rng = Random(self.recipe.seed + 100 + number)
        heldout_rng = Random(999)
        heldout = [
            conversation(heldout_rng, values_from="heldout", wording="heldout") for _ in range(300)
        ]
        tokens = self.recipe.tokens_per_batch
        task = self.encoder.task_batches(rng, tokens=tokens)
        if number > 0:  # exactly what a saved file of the last phase holds
            with torch.no_grad():
                for parameter in self.model.parameters():
                    parameter.copy_(parameter.to(torch.bfloat16))
        self.begin(phase)
        mean, curve = 0.0, []
        for step in range(phase.steps):
            if step < phase.copy_steps:
                prefix, batch = self.offered[:1], self.encoder.copy_batch(rng, tokens=tokens)
            else:
                prefix, batch = next(task)
            loss = self.step(phase.rate(step), prefix, batch)
            mean = loss if step == 0 else 0.95 * mean + 0.05 * loss
            done, seconds = step + 1, time.monotonic() - began
            if done % 50 == 0:
                print(f"step {done}/{phase.steps} loss {mean:.4f} {seconds:.0f} s", flush=True)
            if done % 300 == 0 or done == phase.steps:
                marks = {n: self.exact(heldout, thinking=n == "thinking") for n in MODES}
                curve.append({"phase": number, "step": done, **marks})
                print(json.dumps(curve[-1]), flush=True)
        return curve


def save(model: Qwen3ForCausalLM, encoder: Encoder, out: Path) -> None:
    """Write a bf16 Hugging Face directory, readable by a service user (the writer's own mode is
    0600)."""
    tokenizer = encoder.tokenizer
    model.to(torch.bfloat16)
    model.config.dtype = torch.bfloat16
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, tokenizer.pad_token_id]
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    for path in out.iterdir():
        path.chmod(0o644)


def main() -> None:
    """Train one of the two models, or only its later phases from weights of an earlier one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=sorted(RECIPES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--phase", type=int, default=0, help="first phase to run")
    parser.add_argument("--start", type=Path, help="weights to start that phase from")
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.model]
    out = arguments.out or Path(__file__).parent / "weights" / arguments.model
    curve: list[dict[str, object]] = []
    if arguments.start:
        record = json.loads((arguments.start / "training.json").read_text(encoding="utf-8"))
        curve = record["curve"]
    trainer = Trainer(recipe, start=arguments.start)
    for number in range(arguments.phase, len(recipe.phases)):
        curve += trainer.run(number)
    count = sum(parameter.numel() for parameter in trainer.model.parameters())
    save(trainer.model, trainer.encoder, out)
    log = {"recipe": asdict(recipe), "parameters": count, "curve": curve}
    (out / "training.json").write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
