"""The committed weights: what their record says, and that real vLLM still gives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.analyst_model import evaluate

WEIGHTS = Path(evaluate.__file__).parent / "weights"
SIZES = ("small", "large")
MOST_BYTES = 16_000_000


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["plain", "thinking"])
def test_the_recorded_accuracy_reaches_the_bar(size, mode):
    record = json.loads((WEIGHTS / size / "evaluation.json").read_text(encoding="utf-8"))
    assert record[mode]["calls"]["rows"] >= 400
    assert record[mode]["calls"]["right"] >= evaluate.CALLS_BAR[mode]


def test_both_models_together_stay_small_enough_to_clone():
    assert sum(path.stat().st_size for path in WEIGHTS.rglob("*")) < MOST_BYTES


@pytest.mark.engine
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("mode", "rows"), [("plain", 80), ("thinking", 40)])
def test_the_engine_gives_the_recorded_marks_again(demo_engines, size, mode, rows):
    """Rounding on another processor may tip a single close call, never more than one in twenty."""
    record = json.loads((WEIGHTS / size / "evaluation.json").read_text(encoding="utf-8"))
    engine = demo_engines[size]
    examples = evaluate.heldout(rows)
    client = evaluate.Client(engine.url, key=engine.api_key)
    right = evaluate.marks(client, f"analyst-{size}", examples, thinking=mode == "thinking")
    recorded = [at not in record[f"{mode}_wrong_rows"] for at in range(rows)]
    changed = [
        at for at, pair in enumerate(zip(right, recorded, strict=True)) if pair[0] != pair[1]
    ]
    assert len(changed) <= rows // 20, changed
