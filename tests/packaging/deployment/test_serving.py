"""Models, engine settings, overrides, tools' arguments and references to secrets."""

from __future__ import annotations

import pytest

from model_packaging.deployment.overrides import OVERRIDABLE
from tests.packaging.deployment.builders import field_of, load, refused, small


def with_serving(**settings):
    values = small()
    values["models"]["small"]["serving"].update(settings)
    return values


def with_parameters(**changes):
    values = small()
    values["tools"]["look"]["parameters"].update(changes)
    return values


@pytest.mark.parametrize(
    "source",
    [
        "models:/analyst@champion",
        "models:/analyst/3",
        "models:/m-0123456789abcdef0123456789abcdef",
        "runs:/0123456789abcdef0123456789abcdef/model",
    ],
)
def test_every_kind_of_registry_address_is_accepted(source):
    values = small()
    values["models"]["small"]["source"] = source
    assert load(values).models["small"].source == source


@pytest.mark.parametrize(
    "source", ["models:/analyst", "analyst@champion", "models:/analyst/latest", "s3://bucket/x", ""]
)
def test_anything_else_is_not_a_registry_address(source):
    values = small()
    values["models"]["small"]["source"] = source
    error = refused(values)
    assert field_of(error) == "models.small.source"
    assert error.rule == f"`{source}` is not an address in the model registry"
    assert error.fix.startswith("write `models:/<name>@<alias>`")


@pytest.mark.parametrize("version", ["0.21.9", "0.9.0", "0.0.1"])
def test_an_engine_with_the_key_bypass_is_refused(version):
    error = refused(with_serving(engine={"version": version}))
    assert field_of(error) == "models.small.serving.engine.version"
    assert error.rule == (
        f"vLLM {version} lets a forged Host header past the engine's key (CVE-2026-48746)"
    )
    assert error.fix == "use vLLM 0.22.0 or newer"


def test_an_old_engine_on_hosts_alone_is_refused_too():
    engine = {"version": "0.30.0", "version_overrides": {"on_prem": "0.20.0"}}
    error = refused(with_serving(engine=engine))
    assert field_of(error) == "models.small.serving.engine.version_overrides.on_prem"


def test_the_queue_holds_at_least_a_full_batch():
    error = refused(with_serving(max_num_queued_reqs=4))
    assert field_of(error) == "models.small.serving.max_num_queued_reqs"
    assert error.rule == (
        "is 4 in on_prem, below max_num_seqs (8): it counts running requests too, so the engine "
        "could never fill a batch"
    )
    assert error.fix == "raise max_num_queued_reqs to at least 8, or lower max_num_seqs"


def test_the_queue_holds_a_full_batch_after_overrides_too():
    error = refused(with_serving(engine_overrides={"aws": {"max_num_seqs": 32}}))
    assert error.rule.startswith("is 16 in aws, below max_num_seqs (32)")


@pytest.mark.parametrize(
    "name",
    [
        "load_format",
        "trust_remote_code",
        "chat_template",
        "served_model_name",
        "api_key",
        "host",
        "port",
        "middleware",
        "worker_extension_cls",
        "enable_log_outputs",
        "max_model_len",
        "no_enforce_eager",
        "enforce-eager",
    ],
)
def test_only_arguments_about_hardware_may_differ(name):
    error = refused(with_serving(engine_overrides={"on_prem": {name: True}}))
    assert field_of(error) == f"models.small.serving.engine_overrides.on_prem.{name}"
    assert error.rule == "is not an engine argument that may differ between the places"
    assert error.fix == f"remove it; these may differ: {', '.join(OVERRIDABLE)}"


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("enforce_eager", 1, "true or false"),
        ("enforce_eager", None, "true or false"),
        ("max_num_seqs", True, "a whole number"),
        ("max_num_seqs", 1.5, "a whole number"),
        ("gpu_memory_utilization", "0.9", "a number"),
        ("attention_backend", "", "text"),
        ("cudagraph_capture_sizes", [], "a list of whole numbers"),
        ("cudagraph_capture_sizes", [1, "2"], "a list of whole numbers"),
    ],
)
def test_an_override_has_the_kind_its_argument_takes(name, value, kind):
    error = refused(with_serving(engine_overrides={"aws": {name: value}}))
    assert (error.rule, error.fix) == (f"is not {kind}", f"write {kind}")


@pytest.mark.parametrize(
    ("changes", "field", "rule"),
    [
        ({"type": "array"}, "type", "is not `object`"),
        ({"additionalProperties": True}, "additionalProperties", "is not `false`, which every"),
        ({"required": ["where"]}, "required", "names `where`, which is not a property"),
        ({"required": "what"}, "required", "is not a list"),
        ({"properties": None}, "properties", "is missing"),
        ({"properties": {"what": "string"}}, "properties.what", "is not a schema"),
        ({"properties": {"what": {}}}, "properties.what.type", "is missing"),
        ({"properties": {"what": {"type": "text"}}}, "properties.what.type", "`text` is not a"),
        ({"properties": {"what": {"type": ["string"]}}}, "properties.what.type", "`['string']`"),
        ({"properties": {"what": {"type": "array"}}}, "properties.what.items", "is missing"),
        ({"oneOf": []}, "oneOf", "is a keyword that not every engine enforces"),
        (
            {"properties": {"what": {"type": "string", "format": "date"}}},
            "properties.what.format",
            "is a keyword that not every engine enforces",
        ),
        (
            {"properties": {"what": {"type": "array", "items": {"type": "object"}}}},
            "properties.what.items.properties",
            "is missing",
        ),
    ],
)
def test_arguments_that_not_every_reader_enforces_alike_are_refused(changes, field, rule):
    error = refused(with_parameters(**changes))
    assert field_of(error) == f"tools.look.parameters.{field}"
    assert error.rule.startswith(rule)


def test_arguments_nested_too_deep_are_refused():
    inner: dict[str, object] = {"type": "string"}
    for _ in range(10):
        inner = {
            "type": "object",
            "properties": {"a": inner},
            "additionalProperties": False,
        }
    error = refused(with_parameters(properties={"what": inner}))
    assert error.rule == "is nested deeper than 8 levels"


@pytest.mark.parametrize(
    "reference",
    [
        "file:/etc/perimeter/key",
        "file:.perimeter/demo/keys/engine",
        "vault:kv/perimeter/engine#key",
        "secretsmanager:perimeter/engine",
    ],
)
def test_a_reference_to_a_secret_is_accepted(reference):
    values = small()
    values["on_prem"]["keys"]["engine_key"] = reference
    assert load(values).on_prem.keys.engine_key == reference


@pytest.mark.parametrize(
    "value", ["hunter2", "sk-1234567890", "file:", "file:../key", "file:/a/../key", "env:KEY", ""]
)
def test_a_secret_itself_is_refused_and_never_repeated(value):
    values = small()
    values["on_prem"]["keys"]["engine_key"] = value
    error = refused(values)
    assert field_of(error) == "on_prem.keys.engine_key"
    assert error.rule == "holds something that is not a reference to a secret"
    assert "`file:<path>`, `vault:<path>#<key>` or `secretsmanager:<name>`" in error.fix
    assert not value or value not in str(error).replace("`file:<path>`", "")


@pytest.mark.parametrize("path", ["models", "/var/../models", "/var/lib/models/"])
def test_a_folder_of_a_host_is_a_plain_absolute_path(path):
    values = small()
    values["on_prem"]["model_root"] = path
    error = refused(values)
    assert error.rule == f"`{path}` is not a plain absolute path"
