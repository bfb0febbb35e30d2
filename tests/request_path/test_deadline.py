import asyncio

import pytest

from lambdas.assistant.deadline import Deadline
from lambdas.assistant.errors import DeadlineExceeded
from tests.request_path.virtual_time import VirtualClock, run


def deadline(milliseconds):
    clock = VirtualClock()
    return Deadline.after(milliseconds, clock=clock, since_ns=clock.monotonic_ns())


def test_a_step_gets_its_budget_or_what_is_left():
    async def scenario():
        total = deadline(1000)
        assert total.within(300) == pytest.approx(0.3)
        await asyncio.sleep(0.8)
        assert total.within(300) == pytest.approx(0.2)

    run(scenario())


def test_nothing_is_left_after_the_deadline_and_never_less():
    async def scenario():
        total = deadline(1000)
        await asyncio.sleep(5)
        assert total.remaining_seconds() == 0
        with pytest.raises(DeadlineExceeded) as exceeded:
            total.check()
        assert exceeded.value.message == (
            "no answer within 1000 ms, the time for the whole request; "
            "a longer one can be asked for with metadata `perimeter.deadline_ms`"
        )

    run(scenario())
