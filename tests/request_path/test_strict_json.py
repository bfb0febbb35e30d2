import pytest

from lambdas.assistant.strict_json import JsonRefused, parse


def test_plain_json_comes_through_unchanged():
    assert parse(b'{"a": [1, 2.5, "\xc3\xa9", null, true]}') == {"a": [1, 2.5, "é", None, True]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1, "a": 2}', "a key occurs twice in one object"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": 1e999}', "a number is out of range"),
        (b'{"a": "\xff"}', "the text is not UTF-8"),
        (b'{"a": "\\ud800"}', "a text holds half of a surrogate pair"),
        (b'{"\\udc00": 1}', "a text holds half of a surrogate pair"),
        (b'{"a": ', "not JSON: Expecting value at character 6"),
        (b"", "not JSON: Expecting value at character 0"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64 levels"),
        (b"[" * 100_000, "nested deeper than 64 levels"),
        (b"1" * 5_000, "a number is too long"),
    ],
)
def test_what_python_would_let_through_is_refused_with_its_rule(data, message):
    with pytest.raises(JsonRefused) as refused:
        parse(data)
    assert str(refused.value) == message


def test_a_whole_surrogate_pair_is_a_character():
    assert parse(b'"\\ud83d\\ude00"') == "\U0001f600"
