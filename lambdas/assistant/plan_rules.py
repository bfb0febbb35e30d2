"""Rules across the parts of a plan: every name used is defined, and every label is known."""

from collections.abc import Collection

from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.fields import RENDER_AGAIN
from lambdas.assistant.plan import Intent, Plan


def check_plan(plan: Plan) -> None:
    """Raise `PlanInvalid` for the first name or label that does not resolve."""
    _label(plan, plan.unlabelled, where="plan.labels.unlabelled")
    for name, pool in plan.pools.items():
        _label(plan, pool.may_hold, where=f"plan.pools.{name}.may_hold")
    for name, tool in plan.tools.items():
        _label(plan, tool.label, where=f"plan.tools.{name}.label")
    for name, floor in plan.floors.items():
        _label(plan, floor, where=f"plan.tenants.{name}.floor")
    for name, pools in plan.tiers.items():
        for pool_name in pools:
            _defined(pool_name, plan.pools, where=f"plan.tiers.{name}", what="pool")
    for intent in plan.intents.values():
        _intent(plan, intent)
    _defined(plan.default_intent, plan.intents, where="plan.default_intent", what="intent")
    if plan.default_deadline_ms > plan.max_deadline_ms:
        raise PlanInvalid(
            where="plan.deadline.default_ms", rule="is more than max_ms", fix=RENDER_AGAIN
        )


def _intent(plan: Plan, intent: Intent) -> None:
    where = f"plan.intents.{intent.name}"
    _defined(intent.tier, plan.tiers, where=f"{where}.tier", what="tier")
    _defined(intent.answer.tier, plan.tiers, where=f"{where}.answer.tier", what="tier")
    for tool in intent.tools:
        _defined(tool, plan.tools, where=f"{where}.tools", what="tool")


def _label(plan: Plan, label: str, *, where: str) -> None:
    if not plan.labels.known(label):
        order = ", ".join(plan.labels.names)
        raise PlanInvalid(where=where, rule=f"{label!r} is not one of {order}", fix=RENDER_AGAIN)


def _defined(name: str, names: Collection[str], *, where: str, what: str) -> None:
    if name not in names:
        raise PlanInvalid(where=where, rule=f"the {what} {name!r} is not defined", fix=RENDER_AGAIN)
