"""The request plan as frozen values. `plan_reading` makes them; nothing else does.

The plan is rendered from the deployment for one place. It holds no secret and nothing that only
exists after a deploy.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lambdas.assistant.labels import LabelOrder
from lambdas.assistant.prompt import PromptPrefix

SCHEMA = "perimeter.request_plan/1"


@dataclass(frozen=True, slots=True)
class Budgets:
    """How long one attempt may take to connect, to its first token, and between two tokens."""

    connect_ms: int
    first_token_ms: int
    gap_ms: int


@dataclass(frozen=True, slots=True)
class Replica:
    """One engine of a pool. `url` is None where the address comes by environment."""

    name: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class VllmPool:
    """Engines of our own, all serving the same weights."""

    name: str
    may_hold: str
    budgets: Budgets
    served_name: str
    weights_digest: str
    replicas: tuple[Replica, ...]

    @property
    def model(self) -> str:
        """The model name that goes into a call."""
        return self.served_name


@dataclass(frozen=True, slots=True)
class SagemakerPool:
    """A SageMaker endpoint; its name comes by environment, and it balances its own instances."""

    name: str
    may_hold: str
    budgets: Budgets
    served_name: str
    weights_digest: str
    replicas: tuple[Replica, ...] = (Replica("endpoint"),)

    @property
    def model(self) -> str:
        """The model name that goes into a call."""
        return self.served_name


@dataclass(frozen=True, slots=True)
class BedrockPool:
    """A Bedrock model or inference profile."""

    name: str
    may_hold: str
    budgets: Budgets
    profile: str
    replicas: tuple[Replica, ...] = (Replica("profile"),)

    @property
    def model(self) -> str:
        """The model or profile that goes into a call."""
        return self.profile


Pool = VllmPool | SagemakerPool | BedrockPool


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """The tool is an HTTP service: POST of the arguments, JSON back."""

    url: str


@dataclass(frozen=True, slots=True)
class LambdaTransport:
    """The tool is a Lambda function, invoked by name."""

    function: str


Transport = HttpTransport | LambdaTransport


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the assistant can run. `label` is the class of what it returns."""

    name: str
    label: str
    transport: Transport
    time_limit_ms: int
    side_effects: bool
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """Who writes the final text once tools have run."""

    tier: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Intent:
    """A kind of request that the models were evaluated on. `tier` picks the tools."""

    name: str
    tier: str
    reasoning: bool
    tools: tuple[str, ...]
    max_tokens: int
    max_tool_rounds: int
    temperature: float
    answer: Answer
    prefix: PromptPrefix


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the request path needs to know about one place of one deployment."""

    deployment: str
    place: str
    labels: LabelOrder
    unlabelled: str
    default_deadline_ms: int
    max_deadline_ms: int
    floors: Mapping[str, str]
    default_intent: str
    intents: Mapping[str, Intent]
    tiers: Mapping[str, tuple[str, ...]]
    pools: Mapping[str, Pool]
    tools: Mapping[str, Tool]
