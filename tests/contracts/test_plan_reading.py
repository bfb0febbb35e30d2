"""Reading the rendered plan: all of it is understood, or it is refused with place and rule."""

import json

import pytest

from lambdas.assistant.errors import PlanInvalid
from lambdas.assistant.plan import BedrockPool, LambdaTransport, SagemakerPool, VllmPool
from lambdas.assistant.plan_reading import read_plan
from tests.contracts.gateways import write_plan
from tests.request_path.plans import SYSTEM, intent, make_plan, plan_document, vllm_pool

AGAIN = "render the deployment again with the same release of Perimeter as this one"


def changed(path, value):
    """A good plan in which the value at `path` is another; a missing value is taken out."""
    document = plan_document()
    target = document
    *outer, last = path.split("/")
    for key in outer:
        target = target[int(key) if key.isdigit() else key]
    if value is None:
        del target[last]
    else:
        target[last] = value
    return document


def refusal(document):
    with pytest.raises(PlanInvalid) as refused:
        make_plan(document)
    return refused.value


def test_a_plan_is_read_from_its_folder_with_the_prompts_beside_it(tmp_path):
    plan = read_plan(write_plan(tmp_path, plan_document()))
    assert (plan.deployment, plan.place) == ("demo", "on_prem")
    assert plan.labels.names == ("C1", "C2", "C3", "C4")
    assert plan.floors == {"analysts": "C1", "risk": "C3"}
    lookup = plan.intents["lookup"]
    assert lookup.tools == ("get_limit", "get_rate")
    assert lookup.prefix.system == SYSTEM
    assert lookup.prefix.tool_names == ("get_limit", "get_rate")
    pool = plan.pools["gpu_small"]
    assert isinstance(pool, VllmPool)
    assert [replica.url for replica in pool.replicas] == [
        "http://127.0.0.1:18101",
        "http://127.0.0.1:18102",
    ]


def test_the_plan_of_the_other_place_is_read_too():
    document = plan_document()
    budgets = document["pools"]["gpu_small"]["budgets"]
    document["place"] = "aws"
    document["pools"] = {
        "endpoint": {
            "kind": "sagemaker",
            "served_name": "analyst-small",
            "may_hold": "C2",
            "weights_digest": "sha256:" + "1" * 64,
            "budgets": budgets,
        },
        "fallback": {"kind": "bedrock", "profile": "eu.x", "may_hold": "C2", "budgets": budgets},
    }
    document["tiers"] = {"small": ["endpoint", "fallback"], "large": ["fallback"]}
    document["tools"]["get_rate"]["transport"] = {"kind": "lambda", "function": "get-rate"}
    plan = make_plan(document)
    assert isinstance(plan.pools["endpoint"], SagemakerPool)
    assert isinstance(plan.pools["fallback"], BedrockPool)
    assert plan.tools["get_rate"].transport == LambdaTransport("get-rate")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", "perimeter.request_plan/2",
         "plan.schema: is 'perimeter.request_plan/2', and this release reads "
         "'perimeter.request_plan/1'"),
        ("extra", 1, "plan: unknown key: extra"),
        ("pools/gpu_small/region", "x", "plan.pools.gpu_small: unknown key: region"),
        ("intents/lookup/answer/style", "x", "plan.intents.lookup.answer: unknown key: style"),
        ("tools/get_rate/cost", 1, "plan.tools.get_rate: unknown key: cost"),
        ("tenants/risk/key", "x", "plan.tenants.risk: unknown key: key"),
        ("place", None, "plan.place: is missing"),
        ("labels/unlabelled", "C9", "plan.labels.unlabelled: 'C9' is not one of C1, C2, C3, C4"),
        ("labels/order", [], "plan.labels.order: names no label"),
        ("labels/order", ["C1", "C1"], "plan.labels.order: holds the same text twice"),
        ("pools/gpu_small/may_hold", "all",
         "plan.pools.gpu_small.may_hold: 'all' is not one of C1, C2, C3, C4"),
        ("pools/gpu_small/kind", "ollama",
         "plan.pools.gpu_small.kind: is 'ollama', not vllm, sagemaker or bedrock"),
        ("pools/gpu_small/replicas", [],
         "plan.pools.gpu_small.replicas: must name at least one replica, and none twice"),
        ("pools/gpu_small/replicas/0/url", "127.0.0.1:1",
         "plan.pools.gpu_small.replicas[0].url: must start with http:// or https://"),
        ("pools/gpu_small/budgets/gap_ms", 0,
         "plan.pools.gpu_small.budgets.gap_ms: must be a whole number of at least 1"),
        ("deadline/default_ms", 90_000, "plan.deadline.default_ms: is more than max_ms"),
        ("deadline/max_ms", True, "plan.deadline.max_ms: must be a whole number of at least 1"),
        ("tiers/large", ["gone"], "plan.tiers.large: the pool 'gone' is not defined"),
        ("default_intent", "gone", "plan.default_intent: the intent 'gone' is not defined"),
        ("intents/lookup/tier", "medium",
         "plan.intents.lookup.tier: the tier 'medium' is not defined"),
        ("intents/lookup/answer/tier", "medium",
         "plan.intents.lookup.answer.tier: the tier 'medium' is not defined"),
        ("intents/lookup/max_tool_rounds", 0,
         "plan.intents.lookup.max_tool_rounds: must be a whole number of at least 1"),
        ("intents/lookup/reasoning", "no", "plan.intents.lookup.reasoning: must be true or false"),
        ("tools/get_rate/transport/kind", "smtp",
         "plan.tools.get_rate.transport.kind: is 'smtp', not http or lambda"),
        ("tools/get_rate/parameters", [], "plan.tools.get_rate.parameters: must be an object"),
        ("tenants", [], "plan.tenants: must be an object"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_where_it_stands(path, value, message):
    assert str(refusal(changed(path, value))) == f"{message}\n  fix: {AGAIN}"


def test_a_key_that_occurs_twice_is_refused(tmp_path):
    path = write_plan(tmp_path, plan_document())
    path.write_text(path.read_text().replace('"place"', '"place": "aws", "place"', 1))
    with pytest.raises(PlanInvalid, match="plan: a key occurs twice in one object"):
        read_plan(path)


def test_a_prompt_that_is_not_the_one_that_was_hashed_is_refused(tmp_path):
    path = write_plan(tmp_path, plan_document())
    prompt = tmp_path / "rendered" / "prompts" / "lookup.json"
    prompt.write_bytes(prompt.read_bytes().replace(b"analyst", b"trader"))
    with pytest.raises(PlanInvalid, match=r"^prompts/lookup\.json: sha256 is .*the plan says "):
        read_plan(path)


def test_a_prompt_that_defines_other_tools_than_the_intent_offers_is_refused():
    document = plan_document()
    document["intents"]["lookup"]["tools"] = ["get_rate"]
    document["intents"]["lookup"]["prompt"] = "prompts/both.json"
    both = intent("both", ["get_rate", "get_limit"])
    document["intents"]["lookup"]["prompt_sha256"] = both["prompt_sha256"]
    document["intents"]["both"] = both
    error = refusal(document)
    assert error.where == "prompts/both.json"
    assert error.rule == ("defines the tools get_limit, get_rate, and the intent offers get_rate")


def test_a_schema_that_the_model_is_told_otherwise_is_refused():
    document = plan_document()
    document["tools"]["get_rate"]["parameters"] = {"type": "object"}
    assert refusal(document).rule == "differ from the plan's schema for this tool"


@pytest.mark.parametrize("name", ["/etc/passwd", "prompts/../../secret.json"])
def test_a_prompt_outside_the_rendered_folder_is_not_read(tmp_path, name):
    path = write_plan(tmp_path, plan_document())
    document = json.loads(path.read_text())
    document["intents"]["lookup"]["prompt"] = name
    path.write_text(json.dumps(document))
    with pytest.raises(PlanInvalid, match="a prompt lies inside the rendered folder"):
        read_plan(path)


def test_a_plan_that_is_not_there_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "on_prem" / "request_plan.json"
    with pytest.raises(PlanInvalid) as refused:
        read_plan(path)
    assert str(refused.value) == (
        f"{path}: cannot be read: No such file or directory\n"
        "  fix: render the deployment, or correct the path"
    )


def test_an_address_may_end_with_a_slash():
    pool = vllm_pool("gpu_small")
    pool["replicas"] = [{"name": "a", "url": "https://gpu1.bank.example:8443/"}]
    document = plan_document()
    document["pools"]["gpu_small"] = pool
    assert (
        make_plan(document).pools["gpu_small"].replicas[0].url == "https://gpu1.bank.example:8443"
    )
