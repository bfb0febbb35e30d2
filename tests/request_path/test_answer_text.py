import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.assistant.answer_text import CALL_MARKER, TextCleaner
from lambdas.assistant.errors import ToolCallRefused


def cleaned(pieces, *, reasoning=False):
    cleaner = TextCleaner(reasoning=reasoning)
    return [*[cleaner.text(piece) for piece in pieces], cleaner.rest()]


def split(text, cuts):
    ends = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in itertools.pairwise(ends)]


CUTS = st.lists(st.integers(0, 200), max_size=10)
NEAR_MARKERS = st.text("<tol_ca>\n x", max_size=40).filter(lambda text: CALL_MARKER not in text)


@settings(derandomize=True)
@given(NEAR_MARKERS, CUTS)
def test_text_without_a_call_comes_out_whole_but_for_its_first_newlines(text, cuts):
    expected = text.lstrip("\n") if text.strip() else ""
    assert "".join(cleaned(split(text, cuts))) == expected


@settings(derandomize=True)
@given(NEAR_MARKERS, NEAR_MARKERS, CUTS)
def test_a_call_is_refused_wherever_it_stands_and_no_part_of_it_comes_out(before, after, cuts):
    text = before + CALL_MARKER + after
    cleaner = TextCleaner(reasoning=False)
    out: list[str] = []

    def feed():
        out.extend(cleaner.text(piece) for piece in split(text, cuts))

    with pytest.raises(ToolCallRefused):
        feed()
    assert before.lstrip("\n").startswith("".join(out))


def test_pieces_are_handed_on_as_they_come():
    assert cleaned(["\n", "\nIt ", "was ", "1 < 2."]) == ["", "It ", "was ", "1 < 2.", ""]


def test_reasoning_is_the_answer_only_when_none_was_asked_for_and_there_is_no_other():
    for asked_for, said, expected in [(False, "", "Hm."), (True, "", ""), (False, "Yes.", "Yes.")]:
        cleaner = TextCleaner(reasoning=asked_for)
        cleaner.reasoning("\n\nHm.")
        assert cleaner.text(said) + cleaner.rest() == expected
