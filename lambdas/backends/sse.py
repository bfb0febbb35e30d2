"""Server-sent events, read from raw bytes as they come."""

from collections.abc import Iterator

MAX_EVENT_BYTES = 1024 * 1024


class EventTooLarge(ValueError):
    """One event is larger than anything an engine sends."""


class EventReader:
    """Cuts a byte stream into the data of its events.

    A piece may end anywhere, within a character too.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of every event that `piece` completes. Raises `EventTooLarge`."""
        self._buffer += piece
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end]).removesuffix(b"\r")
            del self._buffer[: end + 1]
            if line:
                self._line(line)
            elif self._data:
                yield b"\n".join(self._data)
                self._data, self._size = [], 0
        if self._size + len(self._buffer) > MAX_EVENT_BYTES:
            raise EventTooLarge

    def _line(self, line: bytes) -> None:
        # Comments and the fields event, id and retry carry nothing for a chat completion.
        if line.startswith(b"data:"):
            data = line[5:].removeprefix(b" ")
            self._data.append(data)
            self._size += len(data)
