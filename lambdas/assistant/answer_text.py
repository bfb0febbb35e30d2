"""Turns what a model writes into what a caller may read.

Three things are not text for a caller: the newlines that a Qwen template leaves after an empty
thinking block, a tool call that the engine's parser did not recognise (it arrives as text), and
reasoning. The one exception: with reasoning off, some engines file the whole answer under
reasoning; it is then the answer.
"""

from lambdas.assistant.errors import ToolCallRefused

CALL_MARKER = "<tool_call>"


class TextCleaner:
    """Cleans one reply. Feed the pieces in order, then take `rest()`.

    What could still turn out to be a tool call is held back, so no part of one is ever handed on.
    """

    def __init__(self, *, reasoning: bool) -> None:
        self._reasoning_asked_for = reasoning
        self._started = False
        self._held = ""
        self._reasoning: list[str] = []

    def text(self, piece: str) -> str:
        """What may be handed on now. Raises `ToolCallRefused` when the text holds a tool call."""
        text = self._held + piece
        if not self._started:
            text = text.lstrip("\n")
        if CALL_MARKER in text:
            raise malformed_call()
        cut = len(text) - _begun_marker(text)
        if not self._started and not text[:cut].strip():
            cut = 0
        self._held = text[cut:]
        self._started = self._started or cut > 0
        return text[:cut]

    def reasoning(self, piece: str) -> None:
        """Remember a piece of reasoning, in case it is the answer."""
        if not self._reasoning_asked_for:
            self._reasoning.append(piece)

    def rest(self) -> str:
        """What is left to hand on at the end of the reply."""
        if self._started or self._held.strip():
            return self._held
        return "".join(self._reasoning).lstrip("\n")


def _begun_marker(text: str) -> int:
    """How many characters at the end of `text` could be the beginning of a tool call."""
    sizes = range(min(len(text), len(CALL_MARKER) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(CALL_MARKER[:size])), 0)


def malformed_call() -> ToolCallRefused:
    """The error for a tool call that the engine could not parse."""
    return ToolCallRefused(
        "the model wrote a tool call that is not well formed; no tool was run",
        code="tool_call_malformed",
    )
