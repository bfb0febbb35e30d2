from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.backends.sse import MAX_EVENT_BYTES, EventReader, EventTooLarge

STREAM = 'data: {"a": "é"}\n\n: note\nevent: x\ndata:two\r\ndata: lines\r\n\r\n\n\ndata: [DONE]\n\n'
EVENTS = ['{"a": "é"}'.encode(), b"two\nlines", b"[DONE]"]


def read(pieces):
    reader = EventReader()
    return [event for piece in pieces for event in reader.feed(piece)]


def test_events_are_separated_by_empty_lines_and_comments_are_none():
    assert read([STREAM.encode()]) == EVENTS


@settings(derandomize=True)
@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=20))
def test_it_does_not_matter_where_the_network_cuts_the_stream(cuts):
    data = STREAM.encode()
    ends = sorted({0, *cuts, len(data)})
    assert read([data[a:b] for a, b in pairwise(ends)]) == EVENTS


def test_an_event_without_its_empty_line_is_not_complete():
    assert read([b"data: half\n"]) == []


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 70_000, b"data: " + b"x" * 70_000 + b"\n"])
def test_an_event_may_not_grow_without_end(piece):
    with pytest.raises(EventTooLarge):
        read([piece] * (MAX_EVENT_BYTES // 70_000 + 2))
