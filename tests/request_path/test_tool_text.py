import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.assistant.strict_json import JsonRefused
from lambdas.assistant.tool_text import tool_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)


def test_numbers_reach_the_model_digit_for_digit():
    raw = '{"rate":1.0850,"amount":12345678901234567.89,"big":1E+3}'
    assert tool_text(raw) == '{"rate": 1.0850, "amount": 12345678901234567.89, "big": 1E+3}'


def test_text_stays_readable_and_spacing_is_pythons():
    assert tool_text('["é",  true,null ]') == '["é", true, null]'


@settings(derandomize=True)
@given(VALUES)
def test_it_reads_as_what_pythons_own_writer_gives(value):
    expected = json.dumps(value, ensure_ascii=False)
    assert tool_text(json.dumps(value)) == expected


@pytest.mark.parametrize("text", ["", "<html>", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_what_is_not_strict_json_is_refused(text):
    with pytest.raises(JsonRefused):
        tool_text(text)
