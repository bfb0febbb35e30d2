"""Responses in the form of the OpenAI chat-completions API."""

from dataclasses import dataclass

from lambdas.assistant.backend import Usage


@dataclass(frozen=True, slots=True)
class ResponseForm:
    """What every part of one response repeats."""

    id: str
    created: int
    model: str

    def completion(
        self, *, text: str, finish_reason: str, usage: Usage, perimeter: dict[str, object] | None
    ) -> dict[str, object]:
        """A whole response."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        return self._with(
            perimeter, object="chat.completion", choices=[choice], usage=usage_document(usage)
        )

    def first_chunk(self) -> dict[str, object]:
        """The chunk that opens a stream."""
        return self._chunk({"role": "assistant", "content": ""}, finish_reason=None)

    def text_chunk(self, text: str) -> dict[str, object]:
        """A piece of the answer."""
        return self._chunk({"content": text}, finish_reason=None)

    def last_chunk(
        self, *, finish_reason: str, perimeter: dict[str, object] | None
    ) -> dict[str, object]:
        """The chunk that closes the choice."""
        return self._chunk({}, finish_reason=finish_reason, perimeter=perimeter)

    def usage_chunk(
        self, *, usage: Usage, perimeter: dict[str, object] | None
    ) -> dict[str, object]:
        """The chunk after the last one, for a caller that asked for usage."""
        return self._with(
            perimeter, object="chat.completion.chunk", choices=[], usage=usage_document(usage)
        )

    def _chunk(
        self,
        delta: dict[str, str],
        *,
        finish_reason: str | None,
        perimeter: dict[str, object] | None = None,
    ) -> dict[str, object]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._with(perimeter, object="chat.completion.chunk", choices=[choice])

    def _with(self, perimeter: dict[str, object] | None, **parts: object) -> dict[str, object]:
        document = {"id": self.id, "created": self.created, "model": self.model, **parts}
        if perimeter is not None:
            document["perimeter"] = perimeter
        return document


def usage_document(usage: Usage) -> dict[str, object]:
    """Tokens of all model calls of the request; cached ones only when the engine tells."""
    document: dict[str, object] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
    }
    if usage.cached is not None:
        document["prompt_tokens_details"] = {"cached_tokens": usage.cached}
    return document


def models_document(*, model: str, owner: str) -> dict[str, object]:
    """The list of models: one, since intents and tiers are not the caller's choice of model."""
    entry = {"id": model, "object": "model", "created": 0, "owned_by": owner}
    return {"object": "list", "data": [entry]}
