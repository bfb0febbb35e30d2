"""One list of engine arguments per model, from which both places are rendered.

The values come from `models.<key>.serving` or are rules of this repository, with the reason beside
each rule. docs/deployment-reference.md says what a deployment may set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.models import Serving
from model_packaging.deployment.places import Place
from model_packaging.deployment.pools import VllmPool

CONTAINER_MODEL = "/opt/ml/model"
"""Where SageMaker puts the model; its container adds `--model` itself."""

_QUIET_ENDPOINTS = "/health,/metrics,/ping"


@dataclass(frozen=True, slots=True)
class EngineArgument:
    """One argument of `vllm serve`. `name` is vLLM's, with dashes and without the leading ones."""

    name: str
    value: JsonValue
    origin: Literal["deployment", "rule", "place", "override"]
    reason: str


def engine_arguments(
    deployment: Deployment, model: str, place: Place
) -> tuple[EngineArgument, ...]:
    """The arguments of `model`'s engine in `place`, sorted by name, each name once."""
    serving = deployment.models[model].serving
    path = model_path(deployment, model, place)
    found: dict[str, EngineArgument] = {}
    for argument in (
        *_of_the_deployment(serving),
        *_rules(),
        *_lora(serving, path),
        *_of_the_place(deployment, model, place),
        *_overrides(serving.engine_overrides.of(place), place),
    ):
        found[argument.name] = argument
    return tuple(found[name] for name in sorted(found))


def model_path(deployment: Deployment, model: str, place: Place) -> str:
    """The folder the engine of `model` reads its weights from."""
    if place is Place.AWS or deployment.on_prem is None:
        return CONTAINER_MODEL
    return f"{deployment.on_prem.model_root}/{model}/model"


def _of_the_deployment(serving: Serving) -> Iterator[EngineArgument]:
    values: dict[str, JsonValue] = {
        "served-model-name": serving.served_name,
        "max-model-len": serving.max_model_len,
        "max-num-seqs": serving.max_num_seqs,
        "max-num-queued-reqs": serving.max_num_queued_reqs,
        "dtype": serving.dtype,
        "quantization": serving.quantization,
        "kv-cache-dtype": serving.kv_cache_dtype,
        "gpu-memory-utilization": serving.gpu_memory_utilization,
        "tensor-parallel-size": serving.tensor_parallel_size,
        "enable-prefix-caching": serving.enable_prefix_caching,
        "reasoning-parser": serving.reasoning_parser,
        "tool-call-parser": serving.tool_call_parser,
    }
    for name, value in values.items():
        if value is not None:
            yield EngineArgument(name, value, "deployment", "models.<key>.serving")
    if serving.tool_call_parser is not None:
        yield EngineArgument(
            "enable-auto-tool-choice", True, "rule", "without it a request with tools is refused"
        )


def _rules() -> Iterator[EngineArgument]:
    rules: tuple[tuple[str, JsonValue, str], ...] = (
        ("load-format", "safetensors", "a pickle can never be loaded"),
        (
            "default-chat-template-kwargs",
            {"enable_thinking": False},
            "reasoning costs three times the tokens: only a request that asks for it gets it",
        ),
        (
            "structured-outputs-config",
            {"backend": "xgrammar", "disable_any_whitespace": True},
            "free whitespace lets a model fill its whole budget with it",
        ),
        ("enable-prompt-tokens-details", True, "prefix reuse is measured by its token counters"),
        (
            "disable-access-log-for-endpoints",
            _QUIET_ENDPOINTS,
            "health checks would bury the requests",
        ),
        ("disable-fastapi-docs", True, "the engine's own pages are open even with a key set"),
    )
    for name, value, reason in rules:
        yield EngineArgument(name, value, "rule", reason)


def _lora(serving: Serving, path: str) -> Iterator[EngineArgument]:
    if serving.lora is None:
        return
    modules: list[JsonValue] = [
        f"{name}={path}/adapters/{name}" for name in sorted(serving.lora.adapters)
    ]
    values: dict[str, JsonValue] = {
        "enable-lora": True,
        "lora-modules": modules,
        "max-lora-rank": serving.lora.max_rank,
        "max-loras": serving.lora.max_loras,
    }
    for name, value in values.items():
        yield EngineArgument(name, value, "deployment", "models.<key>.serving.lora")


def _of_the_place(deployment: Deployment, model: str, place: Place) -> Iterator[EngineArgument]:
    if place is not Place.ON_PREM:
        return  # the container chooses host, port and path, and SageMaker stops it
    serving = deployment.models[model].serving
    port = next(
        pool.port
        for _, pool in sorted(deployment.pools.items())
        if isinstance(pool, VllmPool) and pool.model == model
    )
    values: tuple[tuple[str, JsonValue, str], ...] = (
        ("model", model_path(deployment, model, place), "where the host keeps the package"),
        ("host", "127.0.0.1", "only what stands in front of it may reach the engine"),
        ("port", port, "pools.<name>.port"),
        (
            "shutdown-timeout",
            serving.shutdown_timeout_seconds,
            "running requests finish after SIGTERM; the default cuts them off",
        ),
    )
    for name, value, reason in values:
        yield EngineArgument(name, value, "place", reason)


def _overrides(overrides: Mapping[str, JsonValue], place: Place) -> Iterator[EngineArgument]:
    for name, value in overrides.items():
        yield EngineArgument(
            name.replace("_", "-"), value, "override", f"engine_overrides.{place.value}"
        )
