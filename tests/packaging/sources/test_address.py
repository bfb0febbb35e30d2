"""The four forms of an address, and nothing else."""

from __future__ import annotations

import pytest

from model_packaging.errors import RegistryError
from model_packaging.sources.address import (
    AliasAddress,
    LoggedModelAddress,
    RunAddress,
    VersionAddress,
    parse_address,
)


@pytest.mark.parametrize(
    "address",
    [
        AliasAddress(uri="models:/analyst-small@champion", name="analyst-small", alias="champion"),
        AliasAddress(uri="models:/my model@blue-1", name="my model", alias="blue-1"),
        VersionAddress(uri="models:/analyst/12", name="analyst", version="12"),
        LoggedModelAddress(uri="models:/m-0a1b2c", model_id="m-0a1b2c"),
        RunAddress(uri="runs:/0a1b/model", run_id="0a1b", path="model"),
        RunAddress(uri="runs:/0a1b/out/final/", run_id="0a1b", path="out/final"),
    ],
)
def test_each_form_is_read(address):
    assert parse_address(address.uri) == address


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "analyst",
        "models:/analyst",
        "models:/analyst/Production",
        "models:/analyst/latest",
        "models:/analyst/0",
        "models:/analyst/1/model",
        "models:/analyst@",
        "models://analyst@champion",
        "models:/a@b@c",
        "runs:/0a1b",
        "runs:/0a1b/",
        "runs:/0a1b/../other",
        "runs:/0a1b/a//b",
        "s3://bucket/model",
        "http://example.com/model",
    ],
)
def test_anything_else_is_told_the_forms(uri):
    with pytest.raises(RegistryError) as caught:
        parse_address(uri)
    assert str(caught.value) == (
        f"{uri}: is not the address of a model\n  fix: write models:/<name>@<alias>, "
        "models:/<name>/<version>, models:/m-<id> or runs:/<run id>/<path>"
    )
