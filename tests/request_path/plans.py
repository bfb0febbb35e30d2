"""Request plans for tests, in the rendered form, so that every test goes through the reader."""

import copy
import hashlib
import json

from lambdas.assistant.plan_reading import parse_plan

RATE = {
    "type": "object",
    "properties": {"currency_pair": {"type": "string"}, "date": {"type": "string"}},
    "required": ["currency_pair", "date"],
    "additionalProperties": False,
}
LIMIT = {
    "type": "object",
    "properties": {
        "counterparty": {"type": "string"},
        "product": {"type": "string", "enum": ["swap", "repo", "loan"]},
    },
    "required": ["counterparty", "product"],
    "additionalProperties": False,
}
SCHEMAS = {"get_rate": RATE, "get_limit": LIMIT, "book_note": {"type": "object"}}
SYSTEM = "You are a banking analyst assistant."
BUDGETS = {"connect_ms": 1000, "first_token_ms": 5000, "gap_ms": 2000}


def prompt_file(tools, *, system=SYSTEM):
    """The bytes of a rendered prompt file."""
    definitions = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"What {name} is for",
                "parameters": SCHEMAS[name],
                "strict": True,
            },
        }
        for name in sorted(tools)
    ]
    document = {"system": system, "tools": definitions}
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"


def vllm_pool(name, *, may_hold="C4", replicas=2, port=18101):
    return {
        "kind": "vllm",
        "served_name": f"{name}-model",
        "may_hold": may_hold,
        "weights_digest": "sha256:" + "0" * 64,
        "replicas": [
            {"name": f"host{n}", "url": f"http://127.0.0.1:{port + n}"} for n in range(replicas)
        ],
        "budgets": dict(BUDGETS),
    }


def http_tool(name, *, label="C1", limit=2000, side_effects=False):
    return {
        "label": label,
        "transport": {"kind": "http", "url": f"http://127.0.0.1:18110/tools/{name}"},
        "time_limit_ms": limit,
        "side_effects": side_effects,
        "parameters": SCHEMAS[name],
    }


def intent(name, tools, **changes):
    document = {
        "tier": "small",
        "reasoning": False,
        "tools": sorted(tools),
        "max_tokens": 256,
        "max_tool_rounds": 1,
        "temperature": 0,
        "answer": {"tier": "large", "max_tokens": 128},
        "prompt": f"prompts/{name}.json",
        "prompt_sha256": hashlib.sha256(prompt_file(tools)).hexdigest(),
    }
    return document | changes


def plan_document(**changes):
    """A plan with two tiers of two replicas, one intent with tools and one without."""
    document = {
        "schema": "perimeter.request_plan/1",
        "deployment": "demo",
        "place": "on_prem",
        "labels": {"order": ["C1", "C2", "C3", "C4"], "unlabelled": "C4"},
        "deadline": {"default_ms": 20000, "max_ms": 60000},
        "tenants": {"analysts": {"floor": "C1"}, "risk": {"floor": "C3"}},
        "default_intent": "lookup",
        "intents": {
            "lookup": intent("lookup", ["get_rate", "get_limit"]),
            "explain": intent("explain", [], reasoning=True),
        },
        "tiers": {"small": ["gpu_small"], "large": ["gpu_large"]},
        "pools": {"gpu_small": vllm_pool("gpu_small"), "gpu_large": vllm_pool("gpu_large")},
        "tools": {
            "get_rate": http_tool("get_rate"),
            "get_limit": http_tool("get_limit", label="C3"),
        },
    }
    return copy.deepcopy(document) | changes


def prompts_of(document):
    """The prompt files that a plan document refers to, by name."""
    return {entry["prompt"]: prompt_file(entry["tools"]) for entry in document["intents"].values()}


def make_plan(document=None, **changes):
    """The plan, as the reader makes it."""
    document = plan_document(**changes) if document is None else document
    return parse_plan(json.dumps(document).encode(), read_prompt=prompts_of(document).__getitem__)
