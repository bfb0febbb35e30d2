"""Joins the parts into the app of one gateway."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
from opentelemetry.trace import NoOpTracer, Tracer

from lambdas.assistant.app import ChatApp
from lambdas.assistant.conversation import Assistant
from lambdas.assistant.deadline import SystemClock
from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.plan import HttpTransport, Plan, VllmPool
from lambdas.assistant.plan_reading import read_plan
from lambdas.backends.http_client import http_client
from lambdas.backends.http_tools import HttpTools
from lambdas.backends.vllm import VllmBackend
from lambdas.gateway.clients import Clients
from lambdas.gateway.settings import Settings, SettingsInvalid, read_secret, read_text

RENDER_ON_PREM = "give the gateway the plan rendered for on_prem"


def build_app(settings: Settings) -> ChatApp:
    """The app for these settings. Nothing is called yet.

    Raises `SettingsInvalid` or `PlanInvalid`, each with the file or variable, the rule and the fix.
    """
    plan = read_plan(settings.plan)
    clients = Clients.read(settings.clients_file, tenants=plan.floors)
    key = None
    if settings.engine_key_file is not None:
        key = read_secret(settings.engine_key_file, variable="PERIMETER_ENGINE_KEY_FILE")
    client = _client(settings, plan)
    backend = VllmBackend(client, key=key)
    tracer, close_tracer = _tracer(settings, plan)
    assistant = Assistant(
        plan=plan,
        backends=dict.fromkeys(plan.pools, backend),
        tools=HttpTools(client),
        clock=SystemClock(),
    )
    return ChatApp(
        assistant=assistant,
        identify=clients.identify,
        tracer=tracer,
        on_close=(client.aclose, close_tracer),
    )


def _client(settings: Settings, plan: Plan) -> httpx2.AsyncClient:
    try:
        return http_client(addresses(plan), ca_file=settings.ca_file)
    except OSError as error:
        raise SettingsInvalid(
            where=f"PERIMETER_CA_FILE ({settings.ca_file})",
            rule=f"cannot be used: {error.strerror or type(error).__name__}",
            fix="name a PEM file with the certificate authorities of the engines and tools",
        ) from None


def addresses(plan: Plan) -> list[str]:
    """Every address that this plan lets a gateway call.

    Raises `PlanInvalid` for a part it cannot reach on-prem.
    """
    found: list[str] = []
    for pool in plan.pools.values():
        if not isinstance(pool, VllmPool):
            raise PlanInvalid(
                where=f"plan.pools.{pool.name}.kind",
                rule="a gateway calls engines of our own only",
                fix=RENDER_ON_PREM,
            )
        found.extend(replica.url for replica in pool.replicas if replica.url)
    for tool in plan.tools.values():
        if not isinstance(tool.transport, HttpTransport):
            raise PlanInvalid(
                where=f"plan.tools.{tool.name}.transport.kind",
                rule="a gateway calls tools over HTTP only",
                fix=RENDER_ON_PREM,
            )
        found.append(tool.transport.url)
    return found


def _tracer(settings: Settings, plan: Plan) -> tuple[Tracer, Callable[[], Awaitable[None]]]:
    if settings.spans_file is None and settings.otlp_url is None:
        return NoOpTracer(), _nothing
    # The SDK costs more to import than everything else of OpenTelemetry here.
    from lambdas.gateway.span_export import CollectorSink, FileSink, Sink, tracer_provider

    sinks: list[Sink] = []
    if settings.spans_file is not None:
        try:
            sinks.append(FileSink(settings.spans_file))
        except OSError as error:
            raise SettingsInvalid(
                where=f"PERIMETER_SPANS_FILE ({settings.spans_file})",
                rule=f"cannot be written: {error.strerror}",
                fix="name a file in a folder that the gateway may write to",
            ) from None
    if settings.otlp_url is not None:
        sinks.append(CollectorSink(settings.otlp_url, headers=_otlp_headers(settings)))
    resource = {"service.name": "perimeter-gateway", "perimeter.deployment": plan.deployment}
    provider = tracer_provider(sinks, resource=resource)

    async def close() -> None:
        await asyncio.to_thread(provider.shutdown)

    return provider.get_tracer("perimeter"), close


def _otlp_headers(settings: Settings) -> dict[str, str]:
    path, variable = settings.otlp_headers_file, "PERIMETER_OTLP_HEADERS_FILE"
    if path is None:
        return {}
    fix = "write one `Name: value` a line"
    headers: dict[str, str] = {}
    for number, line in enumerate(read_text(path, variable=variable, fix=fix).splitlines(), 1):
        name, separator, value = line.partition(":")
        if line.strip() and not (separator and name.strip() and value.strip()):
            raise SettingsInvalid(where=f"{path}:{number}", rule="is not `Name: value`", fix=fix)
        if line.strip():
            headers[name.strip()] = value.strip()
    return headers


async def _nothing() -> None:
    return None
