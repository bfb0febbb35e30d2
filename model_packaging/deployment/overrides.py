"""`engine_overrides`: engine arguments of one place only.

Only arguments about hardware may differ: memory, capacity, compilation, telemetry. Everything that
decides what the model reads or writes, who may reach it, or which code runs, is one for both
places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue

from model_packaging.deployment.places import Place
from model_packaging.deployment.problems import Problem, raise_if_any
from model_packaging.deployment.section import Section

_Kind = Literal["true or false", "a whole number", "a number", "text", "a list of whole numbers"]

OVERRIDABLE: Mapping[str, _Kind] = {
    "api_server_count": "a whole number",
    "async_scheduling": "true or false",
    "attention_backend": "text",
    "block_size": "a whole number",
    "cpu_offload_gb": "a number",
    "cudagraph_capture_sizes": "a list of whole numbers",
    "data_parallel_size": "a whole number",
    "disable_custom_all_reduce": "true or false",
    "dtype": "text",
    "enable_chunked_prefill": "true or false",
    "enable_prefix_caching": "true or false",
    "enforce_eager": "true or false",
    "gpu_memory_utilization": "a number",
    "kv_cache_dtype": "text",
    "kv_cache_memory_bytes": "a whole number",
    "max_cudagraph_capture_size": "a whole number",
    "max_num_batched_tokens": "a whole number",
    "max_num_queued_reqs": "a whole number",
    "max_num_seqs": "a whole number",
    "num_gpu_blocks_override": "a whole number",
    "optimization_level": "a whole number",
    "otlp_traces_endpoint": "text",
    "performance_mode": "text",
    "pipeline_parallel_size": "a whole number",
    "safetensors_load_strategy": "text",
    "tensor_parallel_size": "a whole number",
}
"""vLLM's arguments that may differ between the places, with the kind of value each takes."""


def _may_differ(arguments: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    problems = []
    for name, value in arguments.items():
        kind = OVERRIDABLE.get(name)
        if kind is None:
            problems.append(
                Problem(
                    name,
                    rule="is not an engine argument that may differ between the places",
                    fix=f"remove it; these may differ: {', '.join(OVERRIDABLE)}",
                )
            )
        elif not _is(value, kind):
            problems.append(Problem(name, rule=f"is not {kind}", fix=f"write {kind}"))
    raise_if_any(problems)
    return arguments


def _is(value: JsonValue, kind: _Kind) -> bool:
    match kind:
        case "true or false":
            return isinstance(value, bool)
        case "a whole number":
            return isinstance(value, int) and not isinstance(value, bool)
        case "a number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "text":
            return isinstance(value, str) and value != ""
        case "a list of whole numbers":
            return (
                isinstance(value, list)
                and value != []
                and all(_is(item, "a whole number") for item in value)
            )


Arguments = Annotated[Mapping[str, JsonValue], AfterValidator(_may_differ)]


class EngineOverrides(Section):
    """Engine arguments per place, by vLLM's own names with underscores."""

    on_prem: Arguments = Field(default={}, description="Arguments on the hosts only.")
    aws: Arguments = Field(default={}, description="Arguments in the SageMaker container only.")

    def of(self, place: Place) -> Mapping[str, JsonValue]:
        """The overrides of `place`."""
        return self.on_prem if place is Place.ON_PREM else self.aws
