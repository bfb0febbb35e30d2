"""A package that is not the locked one, or cannot do what is asked of it, is not rendered."""

from __future__ import annotations

import pytest

from model_packaging.errors import DeploymentInvalid, LockStale
from model_packaging.render.fitting import check_packages
from tests.packaging.deployment.builders import load, small
from tests.packaging.render.packages import digest_of, lock_of, manifest_of


def checked(serving=None, **changes):
    """Check a small deployment against a package with `changes`, the lock naming that package."""
    values = small()
    values["models"]["small"]["serving"].update(serving or {})
    deployment = load(values)
    manifests = {"small": manifest_of(deployment, "small", **changes)}
    check_packages(deployment, lock_of(deployment, manifests), manifests)


def misfit(serving=None, **changes):
    with pytest.raises(DeploymentInvalid) as caught:
        checked(serving, **changes)
    return caught.value


def test_a_suitable_package_passes():
    checked()


def test_a_model_with_fewer_positions_is_refused():
    error = misfit(model={"max_position_embeddings": 2048})
    assert str(error) == (
        "models.small.serving.max_model_len: is 4096, but the model was built for 2048 positions\n"
        "  fix: lower it to 2048"
    )


def test_a_template_that_leaves_tools_out_is_refused():
    error = misfit(chat={"renders_tools": False})
    assert error.where == "models.small.serving.tool_call_parser"
    assert error.rule == (
        "intents offer tools to this model, but its chat template leaves them out"
    )


def test_a_template_that_cannot_switch_reasoning_off_is_refused():
    error = misfit(chat={"renders_thinking": False})
    assert error.where == "models.small.serving.reasoning_parser"
    checked({"reasoning_parser": None}, chat={"renders_thinking": False})


def test_quantisation_of_plain_weights_is_refused():
    error = misfit({"quantization": "fp8"})
    assert error.rule == "is fp8, but the package holds plain BF16 weights"
    checked({"quantization": "fp8"}, model={"quantization": {"method": "fp8"}})


def test_an_adapter_that_is_not_in_the_package_is_refused():
    error = misfit({"lora": {"adapters": ["memo"]}})
    assert error.where == "models.small.serving.lora.adapters"
    assert error.fix == "log the adapter with the model, so that it lies in model/adapters/memo/"
    file = {
        "path": "model/adapters/memo/adapter_model.safetensors",
        "size": 1,
        "sha256": "0" * 64,
        "role": "weights",
    }
    checked({"lora": {"adapters": ["memo"]}}, files=[file])


@pytest.mark.parametrize("part", ["weights_digest", "model_digest"])
def test_another_package_than_the_locked_one_is_refused(part):
    deployment = load(small())
    lock = lock_of(deployment)
    manifest = manifest_of(deployment, "small", **{part: digest_of("another")})
    with pytest.raises(LockStale) as caught:
        check_packages(deployment, lock, {"small": manifest})
    assert caught.value.where == "models.small.package_digest"
    assert caught.value.fix == "run `package-model build` for this deployment"


def test_a_model_without_a_package_is_refused():
    deployment = load(small())
    with pytest.raises(LockStale, match=r"models\.small: has no package"):
        check_packages(deployment, lock_of(deployment), {})
