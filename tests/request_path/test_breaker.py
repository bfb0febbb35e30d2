from lambdas.assistant.breaker import FAILURES_TO_OPEN, OPEN_NS, Breaker


def opened(now_ns=0):
    breaker = Breaker()
    for _ in range(FAILURES_TO_OPEN):
        breaker.started()
        breaker.failed(now_ns)
    return breaker


def test_five_failures_in_a_row_open_it():
    breaker = Breaker()
    for _ in range(FAILURES_TO_OPEN - 1):
        breaker.failed(0)
    assert breaker.allows(0)
    breaker.failed(0)
    assert breaker.is_open
    assert not breaker.allows(OPEN_NS - 1)


def test_a_success_in_between_starts_the_count_again():
    breaker = Breaker()
    for _ in range(FAILURES_TO_OPEN * 2):
        breaker.failed(0)
        breaker.succeeded()
    assert not breaker.is_open


def test_after_its_time_one_probe_is_let_through_and_only_one():
    breaker = opened()
    assert breaker.allows(OPEN_NS)
    breaker.started()
    assert not breaker.allows(OPEN_NS)


def test_a_good_probe_closes_it():
    breaker = opened()
    breaker.started()
    breaker.succeeded()
    assert breaker.allows(OPEN_NS)
    assert not breaker.is_open


def test_a_bad_probe_keeps_it_open_for_another_while():
    breaker = opened()
    breaker.started()
    breaker.failed(OPEN_NS)
    assert not breaker.allows(OPEN_NS * 2 - 1)
    assert breaker.allows(OPEN_NS * 2)


def test_a_probe_that_the_caller_gave_up_makes_room_for_the_next():
    breaker = opened()
    breaker.started()
    breaker.abandoned()
    assert breaker.allows(OPEN_NS)
