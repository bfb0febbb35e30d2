"""Where a request may go: pools that may not hold its label are out before anything else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lambdas.assistant.admission import ChatRequest
from lambdas.assistant.errors import LabelRefused, NotFound, RequestInvalid
from lambdas.assistant.history import tools_called
from lambdas.assistant.plan import Intent, Plan, Pool


@dataclass(frozen=True, slots=True)
class AllowedPools:
    """The pools that may hold `label`, and no others. Everything later picks from here."""

    label: str
    pools: Mapping[str, Pool]

    def of_tier(self, plan: Plan, tier: str) -> tuple[Pool, ...]:
        """The allowed pools of a tier, in the plan's order of preference.

        Raises `LabelRefused` when there is none.
        """
        names = plan.tiers[tier]
        found = tuple(self.pools[name] for name in names if name in self.pools)
        if not found:
            held = ", ".join(f"{name} up to {plan.pools[name].may_hold}" for name in names)
            raise LabelRefused(
                f"no pool of the tier {tier!r} may hold data of label {self.label} "
                f"({held or 'it has no pool here'}); declare a lower label with metadata "
                "`perimeter.label` if the data allow it, or use the front door inside the perimeter"
            )
        return found


def request_label(plan: Plan, request: ChatRequest, *, tenant: str) -> str:
    """The label that a request starts with.

    It is the highest of what the caller declares (or `unlabelled`), the tenant's floor, and the
    tools whose results its history holds; a tool that the plan does not know counts as the highest.
    """
    declared = plan.unlabelled if request.label is None else request.label
    return plan.labels.highest(
        [declared, plan.floors[tenant], *tool_labels(plan, tools_called(request.messages))]
    )


def tool_labels(plan: Plan, names: Sequence[str]) -> list[str]:
    """The label of each tool's results."""
    return [plan.tools[name].label if name in plan.tools else plan.labels.top for name in names]


def allowed_pools(plan: Plan, label: str) -> AllowedPools:
    """The pools that may hold `label`, whatever their tier."""
    return AllowedPools(
        label=label,
        pools={
            name: pool
            for name, pool in plan.pools.items()
            if plan.labels.permits(may_hold=pool.may_hold, label=label)
        },
    )


def choose_intent(plan: Plan, request: ChatRequest) -> Intent:
    """The intent that the caller names, or the default one.

    Raises `NotFound` for a name that is not served here, `RequestInvalid` for a temperature that is
    not the intent's.
    """
    name = plan.default_intent if request.intent is None else request.intent
    intent = plan.intents.get(name)
    if intent is None:
        raise NotFound(
            f"metadata.perimeter.intent: {name!r} is not served here; "
            f"served are {', '.join(sorted(plan.intents))}",
            code="intent_not_found",
            param="metadata.perimeter.intent",
        )
    if request.temperature is not None and request.temperature != intent.temperature:
        raise RequestInvalid(
            f"is {intent.temperature:g} for the intent {name!r} and cannot be changed",
            code="unsupported_parameter",
            param="temperature",
        )
    return intent
