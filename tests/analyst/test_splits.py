from __future__ import annotations

import json
from random import Random

import pytest

from examples.analyst_model import names, phrasing, values
from examples.analyst_model.conversations import KINDS, conversation
from examples.analyst_model.evaluate import heldout
from examples.analyst_model.splits import is_heldout, part

ALL_TEXTS = [
    *phrasing.NOUN_PHRASES.values(),
    *phrasing.FRAMES.values(),
    *phrasing.CONVERT_FOLLOW_UPS.values(),
    *phrasing.NAME_FOLLOW_UPS.values(),
]


def test_training_and_heldout_share_no_phrasing_and_miss_none():
    for texts in ALL_TEXTS:
        seen = set(part(texts, "train", one_in=phrasing.HELDOUT_ONE_IN))
        unseen = set(part(texts, "heldout", one_in=phrasing.HELDOUT_ONE_IN))
        assert seen.isdisjoint(unseen)
        assert seen | unseen == set(texts)


def test_a_split_without_texts_is_an_error_rather_than_a_silent_gap():
    with pytest.raises(ValueError, match="add variants"):
        part(("Show me {}.",), "heldout", one_in=2**255)


def test_no_training_conversation_names_a_heldout_counterparty():
    rng = Random(1)
    legal_forms = set(names._LEGAL_FORMS)
    for _ in range(2000):
        for call in conversation(rng).calls:
            who = call["arguments"].get("counterparty") or call["arguments"].get("company")
            if who:
                core = " ".join(word for word in who.split() if word not in legal_forms)
                assert not is_heldout(core, one_in=names.HELDOUT_ONE_IN), who


def test_no_training_conversation_asks_for_a_heldout_day():
    rng = Random(2)
    for _ in range(2000):
        for call in conversation(rng).calls:
            day = call["arguments"].get("date") or call["arguments"].get("as_of")
            if day:
                assert not is_heldout(day, one_in=values.DATE_HELDOUT_ONE_IN), day


def test_half_of_the_evaluation_uses_phrasings_that_training_never_does():
    rows = heldout(400)
    assert {row.kind for row in rows} == set(KINDS)
    assert sum(row.heldout_phrasing for row in rows) > 100


def test_the_same_seed_gives_the_same_conversations_and_a_longer_list_begins_with_the_shorter():
    assert [repr(r) for r in heldout(50)] == [repr(r) for r in heldout(80)[:50]]


def test_a_conversion_follow_up_takes_its_amount_from_the_tool_result():
    rng = Random(4)
    found = 0
    while found < 50:
        row = conversation(rng, kind="follow_up")
        if row.calls[0]["name"] == "convert":
            found += 1
            result = json.loads(next(m["content"] for m in row.messages if m["role"] == "tool"))
            assert row.calls[0]["arguments"]["amount"] in result.values()
            assert str(row.calls[0]["arguments"]["amount"]) not in row.messages[-1]["content"]
