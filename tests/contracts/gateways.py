"""A gateway as it is installed: plan, prompts, clients and key in files, on a real server."""

import hashlib
import json
from contextlib import contextmanager

import openai

from lambdas.gateway.app import build_app
from lambdas.gateway.settings import Settings
from tests.contracts.loopback import LoopbackServer
from tests.request_path.plans import plan_document, prompts_of

CLIENT_KEY = "client-key-of-the-analysts"
ENGINE_KEY = "engine-key"
PATIENT_MS = 30_000


def write_plan(folder, document):
    """Lay a plan and its prompts out as they are rendered. Returns the plan's path."""
    path = folder / "rendered" / "on_prem" / "request_plan.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    for name, data in prompts_of(document).items():
        prompt = folder / "rendered" / name
        prompt.parent.mkdir(exist_ok=True)
        prompt.write_bytes(data)
    return path


def plan_for(*, small, large, tools, budget_ms=PATIENT_MS):
    """A plan whose pools have these addresses; `budget_ms` is for every wait."""
    document = plan_document(deadline={"default_ms": 60_000, "max_ms": 60_000})
    for name, urls in (("gpu_small", small), ("gpu_large", large)):
        document["pools"][name]["replicas"] = [
            {"name": f"host{n}", "url": url} for n, url in enumerate(urls)
        ]
        document["pools"][name]["budgets"]["first_token_ms"] = budget_ms
        document["pools"][name]["budgets"]["gap_ms"] = budget_ms
    for name, tool in document["tools"].items():
        tool["transport"]["url"] = f"{tools}/tools/{name}"
        tool["time_limit_ms"] = budget_ms
    return document


def environment_for(folder, document, **more):
    """The environment of a gateway, with everything it names written to `folder`."""
    clients, key = folder / "clients", folder / "engine-key"
    clients.write_text(f"analysts {hashlib.sha256(CLIENT_KEY.encode()).hexdigest()}\n")
    key.write_text(f"{ENGINE_KEY}\n")
    return {
        "PERIMETER_PLAN": str(write_plan(folder, document)),
        "PERIMETER_CLIENTS_FILE": str(clients),
        "PERIMETER_ENGINE_KEY_FILE": str(key),
        **more,
    }


@contextmanager
def running_gateway(folder, document, **more):
    """The gateway's app on loopback."""
    app = build_app(Settings.read(environment_for(folder, document, **more)))
    with LoopbackServer(app, lifespan="on") as server:
        yield server


@contextmanager
def openai_client(url, *, key=CLIENT_KEY):
    """The OpenAI client, without its own retries."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
        yield client
