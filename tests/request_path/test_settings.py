from pathlib import Path

import pytest

from lambdas.gateway.settings import Settings, SettingsInvalid, read_secret

LEAST = {"PERIMETER_PLAN": "/p/on_prem/request_plan.json", "PERIMETER_CLIENTS_FILE": "/c"}


def test_the_least_settings_listen_on_loopback_and_export_nothing():
    settings = Settings.read(LEAST)
    assert settings.plan == Path("/p/on_prem/request_plan.json")
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert settings.engine_key_file is None
    assert (settings.spans_file, settings.otlp_url) == (None, None)


def test_an_empty_variable_counts_as_not_set():
    assert Settings.read(LEAST | {"PERIMETER_SPANS_FILE": ""}).spans_file is None


def test_an_address_of_version_six_is_written_in_brackets():
    settings = Settings.read(LEAST | {"PERIMETER_LISTEN": "[::1]:443"})
    assert (settings.host, settings.port) == ("::1", 443)


@pytest.mark.parametrize("variable", sorted(LEAST))
def test_a_missing_variable_is_named(variable):
    environment = {name: value for name, value in LEAST.items() if name != variable}
    with pytest.raises(SettingsInvalid, match=f"^{variable}: is not set\n  fix: set it to the "):
        Settings.read(environment)


@pytest.mark.parametrize("listen", ["8080", ":8080", "host:", "host:port", "host:70000"])
def test_a_listening_address_of_another_form_is_refused(listen):
    with pytest.raises(SettingsInvalid) as invalid:
        Settings.read(LEAST | {"PERIMETER_LISTEN": listen})
    assert str(invalid.value) == (
        f"PERIMETER_LISTEN: {listen!r} is not host:port\n  fix: write 127.0.0.1:8080"
    )


def test_a_collector_without_a_scheme_is_refused():
    with pytest.raises(SettingsInvalid, match="PERIMETER_OTLP_TRACES_URL: must start with http"):
        Settings.read(LEAST | {"PERIMETER_OTLP_TRACES_URL": "collector:4318"})


def test_a_key_file_may_end_with_a_newline(tmp_path):
    path = tmp_path / "key"
    path.write_text("sk-1\n")
    assert read_secret(path, variable="PERIMETER_ENGINE_KEY_FILE") == "sk-1"


@pytest.mark.parametrize("text", ["", "\n", "two keys", "one\ntwo", "clé"])
def test_a_key_file_that_holds_no_one_key_is_refused_without_telling_what_it_holds(tmp_path, text):
    path = tmp_path / "key"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as invalid:
        read_secret(path, variable="PERIMETER_ENGINE_KEY_FILE")
    assert str(invalid.value) == (
        f"PERIMETER_ENGINE_KEY_FILE ({path}): must hold one key\n"
        "  fix: point PERIMETER_ENGINE_KEY_FILE at a file with the key on one line"
    )


def test_a_key_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsInvalid, match="cannot be read: No such file or directory"):
        read_secret(tmp_path / "none", variable="PERIMETER_ENGINE_KEY_FILE")
