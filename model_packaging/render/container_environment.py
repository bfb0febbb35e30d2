"""The environment of the SageMaker container: SM_VLLM_* and the switches that keep it quiet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from model_packaging.errors import DeploymentInvalid
from model_packaging.render.arguments import EngineArgument
from model_packaging.render.container_rules import PREFIX

MAX_ENTRIES = 100
MAX_BYTES_EACH = 1024
MAX_BYTES_TOTAL = 32 * 1024
_KEY = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

QUIET: Mapping[str, str] = {
    # The container would otherwise install requirements.txt of the model directory at start-up.
    "STANDARD_AUTO_INSTALL_REQ": "false",
    # No telemetry of the image, of vLLM or of the hub, and no look-up of a model elsewhere.
    "OPT_OUT_TRACKING": "true",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


def container_environment(arguments: Iterable[EngineArgument], *, where: str) -> dict[str, str]:
    """The environment, sorted by key.

    Raises `DeploymentInvalid` at `where` where it would not fit SageMaker's limits.
    """
    found = dict(QUIET)
    for argument in arguments:
        name = argument.name.upper().replace("-", "_")
        if argument.value is False:
            found[f"{PREFIX}NO_{name}"] = "true"
        else:
            found[f"{PREFIX}{name}"] = _written(argument.value)
    environment = dict(sorted(found.items()))
    _check_limits(environment, where=where)
    return environment


def _written(value: JsonValue) -> str:
    match value:
        case True:
            return "true"
        case dict() | list():
            # As vLLM writes an object of its own configuration file, so that the tokens are equal.
            return json.dumps(value)
        case _:
            return str(value)


def _check_limits(environment: Mapping[str, str], *, where: str) -> None:
    sizes = {key: (len(key.encode()), len(value.encode())) for key, value in environment.items()}
    for key, (key_size, value_size) in sizes.items():
        if not _KEY.fullmatch(key) or key_size > MAX_BYTES_EACH or value_size > MAX_BYTES_EACH:
            raise DeploymentInvalid(
                where=where,
                rule=f"{key} would be {value_size} bytes long; SageMaker takes {MAX_BYTES_EACH}",
                fix="shorten the setting; something this long belongs in the model's directory",
            )
    if len(environment) > MAX_ENTRIES:
        raise DeploymentInvalid(
            where=where,
            rule=f"would need {len(environment)} variables; SageMaker takes {MAX_ENTRIES}",
            fix="remove engine_overrides.aws",
        )
    total = sum(key + value for key, value in sizes.values())
    if total > MAX_BYTES_TOTAL:
        raise DeploymentInvalid(
            where=where,
            rule=f"would need {total} bytes of variables; SageMaker takes {MAX_BYTES_TOTAL}",
            fix="shorten the settings",
        )
