"""`models`: what is served, and the engine settings that are the same in both places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from model_packaging.deployment.overrides import EngineOverrides
from model_packaging.deployment.places import Place
from model_packaging.deployment.problems import refuse
from model_packaging.deployment.section import Digest, Name, Section, Text

_SOURCE = re.compile(
    r"models:/m-[0-9a-f]{32}"
    r"|models:/[^/@:\s]{1,255}(@[A-Za-z0-9_-]+|/[1-9][0-9]*)"
    r"|runs:/[0-9a-f]{32}/\S+"
)
ENGINE_FLOOR = (0, 22, 0)


def _is_a_registry_address(value: str) -> str:
    if not _SOURCE.fullmatch(value):
        raise refuse(
            "",
            rule=f"`{value}` is not an address in the model registry",
            fix="write `models:/<name>@<alias>`, `models:/<name>/<version>`, `models:/m-<id>` or "
            "`runs:/<run>/<path>`",
        )
    return value


def _is_recent_enough(value: str) -> str:
    if tuple(int(part) for part in value.split(".")) < ENGINE_FLOOR:
        floor = ".".join(map(str, ENGINE_FLOOR))
        raise refuse(
            "",
            rule=f"vLLM {value} lets a forged Host header past the engine's key (CVE-2026-48746)",
            fix=f"use vLLM {floor} or newer",
        )
    return value


RegistryAddress = Annotated[str, AfterValidator(_is_a_registry_address)]
EngineVersion = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$"),
    AfterValidator(_is_recent_enough),
]


class Base(Section):
    """The model that was fine-tuned."""

    name: Text = Field(description="Name of the base model, as its publisher writes it.")
    licence: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.+-]+$")] = Field(
        description="SPDX identifier of the base model's licence, for example `Apache-2.0`."
    )
    digest: Digest | None = Field(
        default=None,
        description="Expected digest of the base weights, where the base is delivered separately.",
    )


class Engine(Section):
    """The inference engine and its version."""

    name: Literal["vllm"] = Field(default="vllm", description="The engine. Only vLLM is served.")
    version: EngineVersion = Field(
        description="Version in both places: the one AWS's SageMaker image carries. At least "
        "0.22.0."
    )
    version_overrides: Mapping[Place, EngineVersion] = Field(
        default={},
        description="A version per place, where they must differ. The parity suite must then pass "
        "on both.",
    )

    def version_in(self, place: Place) -> str:
        """The version that runs in `place`."""
        return self.version_overrides.get(place, self.version)


class Lora(Section):
    """Adapters that are served beside the model, each under its own name."""

    adapters: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        description="Adapters to load; the package holds each under `model/adapters/<name>/`."
    )
    max_rank: Literal[8, 16, 32, 64, 128, 256] = Field(
        default=16, description="Largest adapter rank. A larger one stops the engine at start-up."
    )
    max_loras: Annotated[int, Field(ge=1, le=64)] = Field(
        default=1, description="How many adapters one batch may mix."
    )


class Serving(Section):
    """How the engine serves the model, in both places."""

    served_name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")] = Field(
        description="Name under which the engine serves the model, the same in both places."
    )
    engine: Engine = Field(description="Engine and version.")
    max_model_len: Annotated[int, Field(ge=256)] = Field(
        description="Longest prompt plus answer, in tokens."
    )
    max_num_seqs: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="How many requests one engine works on at the same time."
    )
    max_num_queued_reqs: Annotated[int, Field(ge=1)] = Field(
        description="How many requests may be in one engine, running or waiting; one more gets 503 "
        "at once, which lets the request path move on to the next pool."
    )
    dtype: Literal["bfloat16", "float16", "float32"] = Field(
        default="bfloat16", description="Type of weights and activations."
    )
    quantization: Literal["fp8", "compressed-tensors", "awq", "gptq"] | None = Field(
        default=None, description="Quantisation of the weights; unset means the weights' own type."
    )
    kv_cache_dtype: Literal["auto", "fp8"] = Field(
        default="auto", description="Type of the key-value cache; `auto` is the model's own."
    )
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="Share of a GPU's memory that the engine may take; unset is vLLM's default.",
    )
    tensor_parallel_size: Annotated[int, Field(ge=1, le=16)] = Field(
        default=1, description="How many GPUs hold the model together."
    )
    tool_call_parser: Literal["hermes"] | None = Field(
        default="hermes",
        description="How tool calls are read from the model's text; unset: no tools.",
    )
    reasoning_parser: Literal["qwen3"] | None = Field(
        default="qwen3",
        description="How reasoning is told from the answer; unset: the model does not reason.",
    )
    enable_prefix_caching: bool = Field(
        default=True, description="Keep the work done for a prompt's prefix and reuse it."
    )
    shutdown_timeout_seconds: Annotated[int, Field(ge=1, le=600)] = Field(
        default=60, description="On hosts: how long running requests may finish after SIGTERM."
    )
    lora: Lora | None = Field(default=None, description="Adapters served beside the model.")
    engine_overrides: EngineOverrides = Field(
        default=EngineOverrides(),
        description="Engine arguments that must differ between the places. Each one is a stated "
        "difference in the parity report.",
    )

    @model_validator(mode="after")
    def _queue_holds_a_full_batch(self) -> Serving:
        for place in Place:
            overrides = self.engine_overrides.of(place)
            batch = overrides.get("max_num_seqs", self.max_num_seqs)
            queue = overrides.get("max_num_queued_reqs", self.max_num_queued_reqs)
            if isinstance(queue, int) and isinstance(batch, int) and queue < batch:
                raise refuse(
                    "max_num_queued_reqs",
                    rule=f"is {queue} in {place.value}, below max_num_seqs ({batch}): it counts "
                    "running requests too, so the engine could never fill a batch",
                    fix=f"raise max_num_queued_reqs to at least {batch}, or lower max_num_seqs",
                )
        return self


class Model(Section):
    """One model: where it comes from and how it is served."""

    source: RegistryAddress = Field(
        description="Address in the MLflow registry. An alias is resolved once, by `package-model "
        "build`, and written to the lock."
    )
    base: Base = Field(description="The base model and its licence.")
    serving: Serving = Field(description="Engine settings.")
