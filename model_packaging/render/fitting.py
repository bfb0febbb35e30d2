"""Does each package suit what the deployment asks of it, and is it the one the lock names?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from model_packaging.deployment.deployment import Deployment
from model_packaging.deployment.lock import DeploymentLock
from model_packaging.deployment.problems import Problem
from model_packaging.errors import DeploymentInvalid, LockStale
from model_packaging.package.manifest import Manifest


def check_packages(
    deployment: Deployment, lock: DeploymentLock, manifests: Mapping[str, Manifest]
) -> None:
    """Return when every package is the locked one and can do what is asked of it.

    Raises `LockStale` for another package than the locked one, `DeploymentInvalid` for one that
    cannot do what the deployment says.
    """
    for key in sorted(deployment.models):
        _is_the_locked_one(key, lock, manifests)
        for problem in _misfits(deployment, key, manifests[key]):
            raise DeploymentInvalid(where=problem.where, rule=problem.rule, fix=problem.fix)


def _is_the_locked_one(key: str, lock: DeploymentLock, manifests: Mapping[str, Manifest]) -> None:
    locked, manifest = lock.models.get(key), manifests.get(key)
    build = "run `package-model build` for this deployment"
    if locked is None or manifest is None:
        raise LockStale(
            where=f"models.{key}",
            rule="has no " + ("lock" if locked is None else "package"),
            fix=build,
        )
    for digest in ("package_digest", "model_digest", "weights_digest"):
        wanted, found = getattr(locked, digest), getattr(manifest, digest)
        if wanted != found:
            raise LockStale(
                where=f"models.{key}.{digest}",
                rule=f"is {wanted} in the lock, but the package in the store has {found}",
                fix=build,
            )


def _misfits(deployment: Deployment, key: str, manifest: Manifest) -> Iterator[Problem]:
    serving = deployment.models[key].serving
    where = f"models.{key}.serving"
    longest = manifest.model.max_position_embeddings
    if serving.max_model_len > longest:
        yield Problem(
            f"{where}.max_model_len",
            rule=f"is {serving.max_model_len}, but the model was built for {longest} positions",
            fix=f"lower it to {longest}",
        )
    asks_for_tools = any(
        intent.tools
        for intent in deployment.intents.values()
        for tier in (intent.tier, intent.answer.tier)
        for pool in map(deployment.pools.__getitem__, deployment.tiers[tier])
        if pool.kind != "bedrock" and pool.model == key
    )
    if asks_for_tools and not manifest.chat.renders_tools:
        yield Problem(
            f"{where}.tool_call_parser",
            rule="intents offer tools to this model, but its chat template leaves them out",
            fix="log the model with a chat template that writes tools, or offer none",
        )
    if serving.reasoning_parser is not None and not manifest.chat.renders_thinking:
        yield Problem(
            f"{where}.reasoning_parser",
            rule=f"is {serving.reasoning_parser}, but the chat template ignores enable_thinking, "
            "so reasoning could never be switched off",
            fix="set it to null, or log the model with a template that knows enable_thinking",
        )
    quantised = manifest.model.quantization
    if serving.quantization is not None and quantised is None:
        yield Problem(
            f"{where}.quantization",
            rule=f"is {serving.quantization}, but the package holds plain {manifest.model.dtype} "
            "weights",
            fix="set it to null, or package quantised weights",
        )
    held = {path.split("/")[1] for path in manifest.model_hashes if path.startswith("adapters/")}
    for adapter in serving.lora.adapters if serving.lora else ():
        if adapter not in held:
            yield Problem(
                f"{where}.lora.adapters",
                rule=f"names `{adapter}`, which is not in the package",
                fix=f"log the adapter with the model, so that it lies in model/adapters/{adapter}/",
            )
