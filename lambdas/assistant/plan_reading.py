"""Reads a rendered request plan and its prompts, strictly: what is not understood is refused.

A plan that was rendered by another major version, that names a pool or a tool it does not define,
or whose prompt file is not the one that was hashed, does not load. So a process that runs has read
exactly what the deployment says.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.fields import RENDER_AGAIN, Fields
from lambdas.assistant.labels import LabelOrder
from lambdas.assistant.plan import (
    SCHEMA,
    Answer,
    BedrockPool,
    Budgets,
    HttpTransport,
    Intent,
    LambdaTransport,
    Plan,
    Pool,
    Replica,
    SagemakerPool,
    Tool,
    Transport,
    VllmPool,
)
from lambdas.assistant.plan_rules import check_plan
from lambdas.assistant.prompt_reading import ReadPrompt, parse_file, read_prefix


def read_plan(path: Path) -> Plan:
    """The plan at `<rendered>/<place>/request_plan.json`.

    Its prompts are read from `<rendered>/prompts/`. Raises `PlanInvalid` when a file cannot be read
    or breaks a rule.
    """
    rendered = path.parent.parent

    def read_prompt(name: str) -> bytes:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts:
            raise PlanInvalid(
                where=name, rule="a prompt lies inside the rendered folder", fix=RENDER_AGAIN
            )
        return _read(rendered / parts)

    return parse_plan(_read(path), read_prompt=read_prompt)


def parse_plan(data: bytes, *, read_prompt: ReadPrompt) -> Plan:
    """The plan from its bytes.

    `read_prompt` returns the bytes of a prompt file by its name in the plan.
    """
    root = Fields(parse_file(data, where="plan"), path="plan")
    schema = root.text("schema")
    if schema != SCHEMA:
        raise root.invalid("schema", f"is {schema!r}, and this release reads {SCHEMA!r}")
    labels = root.nested("labels")
    order = LabelOrder(labels.texts("order"))
    if not order.names:
        raise labels.invalid("order", "names no label")
    unlabelled = labels.text("unlabelled")
    labels.done()
    deadline = root.nested("deadline")
    tools = {name: _tool(name, fields) for name, fields in root.entries("tools")}
    plan = Plan(
        deployment=root.text("deployment"),
        place=root.text("place"),
        labels=order,
        unlabelled=unlabelled,
        default_deadline_ms=deadline.integer("default_ms", minimum=1),
        max_deadline_ms=deadline.integer("max_ms", minimum=1),
        floors={name: _floor(fields) for name, fields in root.entries("tenants")},
        default_intent=root.text("default_intent"),
        intents={
            name: _intent(name, fields, tools=tools, read_prompt=read_prompt)
            for name, fields in root.entries("intents")
        },
        tiers=_tiers(root),
        pools={name: _pool(name, fields) for name, fields in root.entries("pools")},
        tools=tools,
    )
    deadline.done()
    root.done()
    check_plan(plan)
    return plan


def _floor(fields: Fields) -> str:
    floor = fields.text("floor")
    fields.done()
    return floor


def _tiers(root: Fields) -> dict[str, tuple[str, ...]]:
    tiers = root.nested("tiers")
    names = list(root.mapping("tiers"))
    found = {name: tiers.texts(name) for name in names}
    tiers.done()
    return found


def _pool(name: str, fields: Fields) -> Pool:
    kind = fields.text("kind")
    may_hold = fields.text("may_hold")
    budgets = _budgets(fields.nested("budgets"))
    pool: Pool
    match kind:
        case "vllm":
            pool = VllmPool(
                name=name,
                may_hold=may_hold,
                budgets=budgets,
                served_name=fields.text("served_name"),
                weights_digest=fields.text("weights_digest"),
                replicas=_replicas(fields),
            )
        case "sagemaker":
            pool = SagemakerPool(
                name=name,
                may_hold=may_hold,
                budgets=budgets,
                served_name=fields.text("served_name"),
                weights_digest=fields.text("weights_digest"),
            )
        case "bedrock":
            pool = BedrockPool(
                name=name, may_hold=may_hold, budgets=budgets, profile=fields.text("profile")
            )
        case _:
            raise fields.invalid("kind", f"is {kind!r}, not vllm, sagemaker or bedrock")
    fields.done()
    return pool


def _budgets(fields: Fields) -> Budgets:
    budgets = Budgets(
        connect_ms=fields.integer("connect_ms", minimum=1),
        first_token_ms=fields.integer("first_token_ms", minimum=1),
        gap_ms=fields.integer("gap_ms", minimum=1),
    )
    fields.done()
    return budgets


def _replicas(fields: Fields) -> tuple[Replica, ...]:
    replicas = []
    for index, item in enumerate(fields.items("replicas")):
        entry = Fields(item, path=f"{fields.path}.replicas[{index}]")
        replicas.append(Replica(name=entry.text("name"), url=_url(entry)))
        entry.done()
    if len({replica.name for replica in replicas}) != len(replicas) or not replicas:
        raise fields.invalid("replicas", "must name at least one replica, and none twice")
    return tuple(replicas)


def _url(fields: Fields) -> str:
    url = fields.text("url")
    if not url.startswith(("http://", "https://")):
        raise fields.invalid("url", "must start with http:// or https://")
    return url.rstrip("/")


def _tool(name: str, fields: Fields) -> Tool:
    tool = Tool(
        name=name,
        label=fields.text("label"),
        transport=_transport(fields.nested("transport")),
        time_limit_ms=fields.integer("time_limit_ms", minimum=1),
        side_effects=fields.flag("side_effects"),
        parameters=fields.mapping("parameters"),
    )
    fields.done()
    return tool


def _transport(fields: Fields) -> Transport:
    kind = fields.text("kind")
    transport: Transport
    match kind:
        case "http":
            transport = HttpTransport(url=_url(fields))
        case "lambda":
            transport = LambdaTransport(function=fields.text("function"))
        case _:
            raise fields.invalid("kind", f"is {kind!r}, not http or lambda")
    fields.done()
    return transport


def _intent(
    name: str, fields: Fields, *, tools: Mapping[str, Tool], read_prompt: ReadPrompt
) -> Intent:
    answer = fields.nested("answer")
    offered = fields.texts("tools")
    intent = Intent(
        name=name,
        tier=fields.text("tier"),
        reasoning=fields.flag("reasoning"),
        tools=offered,
        max_tokens=fields.integer("max_tokens", minimum=1),
        max_tool_rounds=fields.integer("max_tool_rounds", minimum=1),
        temperature=fields.number("temperature", minimum=0),
        answer=Answer(tier=answer.text("tier"), max_tokens=answer.integer("max_tokens", minimum=1)),
        prefix=read_prefix(fields, offered=offered, tools=tools, read_prompt=read_prompt),
    )
    answer.done()
    fields.done()
    return intent


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PlanInvalid(
            where=str(path),
            rule=f"cannot be read: {error.strerror}",
            fix="render the deployment, or correct the path",
        ) from None
