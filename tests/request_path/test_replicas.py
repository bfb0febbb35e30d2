from lambdas.assistant.breaker import FAILURES_TO_OPEN
from lambdas.assistant.replicas import Candidate, Replicas
from tests.request_path.plans import make_plan, plan_document, vllm_pool
from tests.request_path.virtual_time import VirtualClock


def pools(*counts):
    document = plan_document()
    document["pools"] |= {
        f"extra{n}": vllm_pool(f"extra{n}", replicas=count) for n, count in enumerate(counts)
    }
    plan = make_plan(document)
    return [plan.pools[f"extra{n}"] for n in range(len(counts))]


def names(candidates):
    return [(c.pool.name, c.replica.name) for c in candidates]


def all_choices(replicas, chosen_pools):
    tried: list[Candidate] = []
    while candidate := replicas.choose(chosen_pools, tried=tried):
        tried.append(candidate)
    return names(tried)


def break_replica(replicas, candidate):
    for _ in range(FAILURES_TO_OPEN):
        replicas.started(candidate)
        replicas.ended(candidate, success=False)


def test_at_most_two_replicas_of_a_pool_are_tried_then_the_next_pool():
    replicas = Replicas(clock=VirtualClock())
    assert all_choices(replicas, pools(3, 1)) == [
        ("extra0", "host0"),
        ("extra0", "host1"),
        ("extra1", "host0"),
    ]


def test_idle_replicas_take_turns_and_a_busy_one_waits():
    replicas, [pool] = Replicas(clock=VirtualClock()), pools(3)
    order = []
    for _ in range(4):
        candidate = replicas.choose([pool], tried=())
        assert candidate is not None
        order.append(candidate.replica.name)
        replicas.started(candidate)
        if candidate.replica.name != "host1":
            replicas.ended(candidate, success=True)
    assert order == ["host0", "host1", "host2", "host0"]


def test_a_replica_whose_breaker_is_open_is_left_out():
    replicas, [pool] = Replicas(clock=VirtualClock()), pools(2)
    break_replica(replicas, Candidate(pool, pool.replicas[0]))
    assert replicas.is_open(pool, pool.replicas[0])
    assert all_choices(replicas, [pool]) == [("extra0", "host1")]


def test_with_every_breaker_open_one_probe_goes_out_all_the_same():
    replicas, [pool] = Replicas(clock=VirtualClock()), pools(2)
    for replica in pool.replicas:
        break_replica(replicas, Candidate(pool, replica))
    assert len(all_choices(replicas, [pool])) == 1


def test_without_a_pool_there_is_no_candidate():
    assert Replicas(clock=VirtualClock()).choose([], tried=()) is None
