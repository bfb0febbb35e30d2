"""Names of steps, spans and attributes, in one place.

The GenAI conventions of OpenTelemetry are still in development and their published constants are
marked deprecated, so the names are pinned here. Attributes that carry content
(`gen_ai.input.messages`, `gen_ai.tool.call.arguments`, ...) are left out on purpose: what is not in
this file cannot be recorded.
"""

# Steps, in the order of a request.
ADMIT = "admit"
LABEL = "label"
POOLS = "pools"
ROUTE = "route"
PROMPT = "prompt"
ATTEMPT = "attempt"
TOOLS = "tools"
TOOL = "tool"
ANSWER = "answer"
STREAM = "stream"

# GenAI conventions.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STREAM = "gen_ai.request.stream"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK_SECONDS = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
ERROR_TYPE = "error.type"

OPERATION_CHAT = "chat"
OPERATION_TOOL = "execute_tool"
OPERATION_WORKFLOW = "invoke_workflow"

# Ours.
STEP = "perimeter.step"
DEPLOYMENT = "perimeter.deployment"
PLACE = "perimeter.place"
TENANT = "perimeter.tenant"
INTENT = "perimeter.intent"
DATA_LABEL = "perimeter.label"
TIER = "perimeter.tier"
POOL = "perimeter.pool"
REPLICA = "perimeter.replica"
PHASE = "perimeter.phase"
OUTCOME = "perimeter.outcome"
REASONING = "perimeter.reasoning"
CALL_COUNT = "perimeter.tool_calls"
PROMPT_SHA256 = "perimeter.prompt_sha256"
REMAINING_MS = "perimeter.deadline.remaining_ms"
HTTP_STATUS = "http.response.status_code"

# The attributes that a breakdown shows to the caller, under shorter names.
BREAKDOWN_KEYS = {
    REQUEST_MODEL: "model",
    INPUT_TOKENS: "prompt_tokens",
    OUTPUT_TOKENS: "completion_tokens",
    CACHED_TOKENS: "cached_tokens",
    TOOL_NAME: "tool",
    ERROR_TYPE: "error",
    DATA_LABEL: "label",
    INTENT: "intent",
    TIER: "tier",
    POOL: "pool",
    REPLICA: "replica",
    PHASE: "phase",
    OUTCOME: "outcome",
    CALL_COUNT: "tool_calls",
}

# What an exporter lets out: every attribute named above. Each is a name from the plan, a number or
# a fixed word.
EXPORTED = frozenset(
    value
    for key, value in list(globals().items())
    if key.isupper() and isinstance(value, str) and "." in value
)
