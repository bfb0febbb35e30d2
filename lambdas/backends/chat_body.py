"""The body of a chat-completions call to vLLM: stable bytes first, every choice explicit."""

from lambdas.assistant.backend import ModelRequest
from lambdas.assistant.messages import messages_json
from lambdas.assistant.prompt import compact_json

SEED = 0


def chat_body(request: ModelRequest, *, model: str) -> bytes:
    """The bytes to send.

    The system text opens the body and is the same for every call of an intent, as are the tool
    definitions: an endpoint that routes by the first bytes of a body then sends like to like.
    Defaults of the engine differ between its versions, so thinking, parallel calls and the tool
    choice are always said.
    """
    options: dict[str, object] = {
        "model": model,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": SEED,
        "n": 1,
        "chat_template_kwargs": {"enable_thinking": request.reasoning},
    }
    tools = ""
    if request.prefix.tools_json is not None:
        tools = f'"tools":{request.prefix.tools_json},'
        options["tool_choice"] = "auto" if request.may_call_tools else "none"
        options["parallel_tool_calls"] = True
    messages = request.prefix.system_json + messages_json(request.messages)
    rest = compact_json(options).removeprefix("{")
    return f'{{"messages":[{messages}],{tools}{rest}'.encode()
