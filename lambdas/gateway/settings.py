"""What the gateway reads from its environment, once, at start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class SettingsInvalid(Exception):
    """A setting is missing or wrong. The message names the variable, the rule and the fix."""

    def __init__(self, *, where: str, rule: str, fix: str) -> None:
        super().__init__(f"{where}: {rule}\n  fix: {fix}")


@dataclass(frozen=True, slots=True)
class Settings:
    """The gateway's settings.

    Secrets are in files that these name, never here and never in an argument.

    plan: PERIMETER_PLAN, the rendered `on_prem/request_plan.json`; its prompts lie beside it in
        `../prompts`.
    clients_file: PERIMETER_CLIENTS_FILE, one `<tenant> <sha256 of the key in hex>` a line.
    engine_key_file: PERIMETER_ENGINE_KEY_FILE, the engines' API key; without it none is sent.
    ca_file: PERIMETER_CA_FILE, the authorities for https engines and tools, in PEM; by default the
        system's.
    host, port: PERIMETER_LISTEN as `host:port`, default 127.0.0.1:8080; port 0 takes a free one.
    spans_file: PERIMETER_SPANS_FILE, where spans are appended as OTLP JSON, one batch a line.
    otlp_url: PERIMETER_OTLP_TRACES_URL, a collector's `/v1/traces`, sent OTLP as JSON over HTTP.
    otlp_headers_file: PERIMETER_OTLP_HEADERS_FILE, `Name: value` lines for the collector, such as
        its credentials.
    """

    plan: Path
    clients_file: Path
    engine_key_file: Path | None
    ca_file: Path | None
    host: str
    port: int
    spans_file: Path | None
    otlp_url: str | None
    otlp_headers_file: Path | None

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """The settings in `environment`.

        An empty variable counts as not set. Raises `SettingsInvalid`.
        """
        host, port = _listen(environment.get("PERIMETER_LISTEN") or "127.0.0.1:8080")
        otlp_url = environment.get("PERIMETER_OTLP_TRACES_URL") or None
        if otlp_url is not None and not otlp_url.startswith(("http://", "https://")):
            raise SettingsInvalid(
                where="PERIMETER_OTLP_TRACES_URL",
                rule="must start with http:// or https://",
                fix="give the collector's full address, ending in /v1/traces",
            )
        return cls(
            plan=_required(environment, "PERIMETER_PLAN", "the rendered on_prem/request_plan.json"),
            clients_file=_required(environment, "PERIMETER_CLIENTS_FILE", "the clients file"),
            engine_key_file=_path(environment, "PERIMETER_ENGINE_KEY_FILE"),
            ca_file=_path(environment, "PERIMETER_CA_FILE"),
            host=host,
            port=port,
            spans_file=_path(environment, "PERIMETER_SPANS_FILE"),
            otlp_url=otlp_url,
            otlp_headers_file=_path(environment, "PERIMETER_OTLP_HEADERS_FILE"),
        )


def read_secret(path: Path, *, variable: str) -> str:
    """The one line in a key file.

    Raises `SettingsInvalid`, whose message holds nothing of the file.
    """
    fix = f"point {variable} at a file with the key on one line"
    text = read_text(path, variable=variable, fix=fix).strip()
    if not text or not text.isascii() or re.search(r"\s", text):
        raise SettingsInvalid(where=f"{variable} ({path})", rule="must hold one key", fix=fix)
    return text


def read_text(path: Path, *, variable: str, fix: str) -> str:
    """A file's text. Raises `SettingsInvalid` when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        rule = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        rule = "is not UTF-8"
    raise SettingsInvalid(where=f"{variable} ({path})", rule=rule, fix=fix)


def _path(environment: Mapping[str, str], variable: str) -> Path | None:
    value = environment.get(variable)
    return Path(value) if value else None


def _required(environment: Mapping[str, str], variable: str, what: str) -> Path:
    path = _path(environment, variable)
    if path is None:
        raise SettingsInvalid(where=variable, rule="is not set", fix=f"set it to {what}")
    return path


def _listen(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not port.isdigit() or int(port) > 65535:
        raise SettingsInvalid(
            where="PERIMETER_LISTEN", rule=f"{text!r} is not host:port", fix="write 127.0.0.1:8080"
        )
    return host, int(port)
