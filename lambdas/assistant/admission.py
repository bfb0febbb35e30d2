"""Admission: the body of a chat request, read strictly into one frozen value.

What this API takes from a caller is short on purpose. Sampling, tools and the system text belong to
the intent, since the models were evaluated with them; a parameter that would be ignored is refused
by name instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lambdas.assistant import strict_json
from lambdas.assistant.errors import NotFound, RequestInvalid
from lambdas.assistant.history import read_messages
from lambdas.assistant.messages import Message

TAKEN = (
    "model",
    "messages",
    "stream",
    "stream_options",
    "metadata",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "n",
    "store",
)
REASONS = {
    "tools": "the intent decides which tools the model may call",
    "tool_choice": "the intent decides when tools are called",
    "parallel_tool_calls": "tools of one round always run in parallel",
    "functions": "the intent decides which tools the model may call",
    "function_call": "the intent decides when tools are called",
    "reasoning_effort": "the intent decides whether the model reasons",
    "logprobs": "probabilities of the model do not leave the perimeter",
}
METADATA = ("perimeter.label", "perimeter.intent", "perimeter.deadline_ms", "perimeter.trace")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One admitted request. None means that the caller left the choice to the deployment."""

    messages: tuple[Message, ...]
    stream: bool
    include_usage: bool
    max_tokens: int | None
    temperature: float | None
    label: str | None
    intent: str | None
    deadline_ms: int | None
    trace: bool


def admit(body: bytes, *, model: str, max_deadline_ms: int) -> ChatRequest:
    """The request in `body`, for the one `model` name that this deployment answers to.

    Raises `RequestInvalid` with the parameter's name, or `NotFound` for another model.
    """
    try:
        value = strict_json.parse(body)
    except strict_json.JsonRefused as error:
        raise RequestInvalid(str(error), code="invalid_json", param=None) from None
    if not isinstance(value, dict):
        raise RequestInvalid("the body must be a JSON object", code="invalid_json", param=None)
    given = {key: item for key, item in value.items() if item is not None}
    _only_taken(given)
    _model(given.get("model"), model=model)
    metadata = _metadata(given.get("metadata", {}))
    stream = _flag(given, "stream")
    return ChatRequest(
        messages=read_messages(given.get("messages")),
        stream=stream,
        include_usage=_include_usage(given, stream=stream),
        max_tokens=_max_tokens(given),
        temperature=_temperature(given.get("temperature")),
        label=metadata.get("perimeter.label"),
        intent=metadata.get("perimeter.intent"),
        deadline_ms=_deadline_ms(metadata, max_deadline_ms=max_deadline_ms),
        trace=_trace(metadata),
    )


def _only_taken(given: Mapping[str, object]) -> None:
    for key in given:
        if key not in TAKEN:
            reason = REASONS.get(key, f"taken are {', '.join(TAKEN)}")
            raise RequestInvalid(f"is not taken: {reason}", code="unsupported_parameter", param=key)
    if "n" in given and (given["n"] != 1 or isinstance(given["n"], bool)):
        raise RequestInvalid("must be 1", code="unsupported_parameter", param="n")
    if _flag(given, "store"):
        raise RequestInvalid(
            "must be false: no request is stored", code="unsupported_parameter", param="store"
        )


def _model(value: object, *, model: str) -> None:
    if not isinstance(value, str):
        raise RequestInvalid(f"must be {model!r}", param="model")
    if value != model:
        raise NotFound(
            f"model: {value!r} is not served here; this deployment answers to {model!r}",
            code="model_not_found",
            param="model",
        )


def _flag(given: Mapping[str, object], key: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        raise RequestInvalid("must be true or false", param=key)
    return value


def _include_usage(given: Mapping[str, object], *, stream: bool) -> bool:
    options = given.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise RequestInvalid("is only taken with stream: true", param="stream_options")
    if not isinstance(options, dict):
        raise RequestInvalid("must be an object", param="stream_options")
    for key in options:
        if key != "include_usage":
            raise RequestInvalid(
                "is not taken", code="unsupported_parameter", param=f"stream_options.{key}"
            )
    value = options.get("include_usage", False)
    if not isinstance(value, bool):
        raise RequestInvalid("must be true or false", param="stream_options.include_usage")
    return value


def _max_tokens(given: Mapping[str, object]) -> int | None:
    names = [name for name in ("max_tokens", "max_completion_tokens") if name in given]
    if len(names) > 1:
        raise RequestInvalid("is given beside max_completion_tokens", param="max_tokens")
    if not names:
        return None
    value = given[names[0]]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestInvalid("must be a whole number of at least 1", param=names[0])
    return value


def _temperature(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise RequestInvalid("must be a number", param="temperature")
    return value


def _metadata(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise RequestInvalid("must be an object of texts", param="metadata")
    found: dict[str, str] = {}
    for key, item in value.items():
        if not isinstance(item, str):
            raise RequestInvalid("must be a text", param=f"metadata.{key}")
        # A mistyped key of ours would leave a label or a deadline unsaid; other keys are the
        # caller's own.
        if key.startswith("perimeter.") and key not in METADATA:
            raise RequestInvalid(
                f"is not known; known are {', '.join(METADATA)}", param=f"metadata.{key}"
            )
        found[key] = item
    return found


def _deadline_ms(metadata: Mapping[str, str], *, max_deadline_ms: int) -> int | None:
    text = metadata.get("perimeter.deadline_ms")
    if text is None:
        return None
    digits = text.isascii() and text.isdigit() and len(text) <= 9
    if not digits or not 1 <= int(text) <= max_deadline_ms:
        raise RequestInvalid(
            f"must be a whole number of milliseconds from 1 to {max_deadline_ms}",
            param="metadata.perimeter.deadline_ms",
        )
    return int(text)


def _trace(metadata: Mapping[str, str]) -> bool:
    value = metadata.get("perimeter.trace", "none")
    if value not in ("none", "steps"):
        raise RequestInvalid('must be "steps" or "none"', param="metadata.perimeter.trace")
    return value == "steps"
