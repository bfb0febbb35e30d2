"""Which replica the next attempt goes to: among the pools it is handed, never one twice."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lambdas.assistant.breaker import Breaker
from lambdas.assistant.deadline import Clock
from lambdas.assistant.plan import Pool, Replica

TRIES_PER_POOL = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """One replica of one pool."""

    pool: Pool
    replica: Replica

    @property
    def key(self) -> tuple[str, str]:
        """Its identity in this process."""
        return self.pool.name, self.replica.name


@dataclass(slots=True)
class _State:
    breaker: Breaker = field(default_factory=Breaker)
    in_flight: int = 0
    last_used: int = 0


class Replicas:
    """What this process knows about the replicas it calls: load and breaker of each."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[tuple[str, str], _State] = {}
        self._uses = 0

    def choose(self, pools: Sequence[Pool], *, tried: Collection[Candidate]) -> Candidate | None:
        """The next candidate: pools in order, at most two replicas of each, the least busy first.

        When every breaker is open, one call still goes out: a probe may succeed, a refusal without
        trying cannot.
        """
        now_ns = self._clock.monotonic_ns()
        for pool in pools:
            if sum(candidate.pool.name == pool.name for candidate in tried) >= TRIES_PER_POOL:
                continue
            fresh = self._untried(pool, tried=tried)
            allowed = [c for c in fresh if self._state(c).breaker.allows(now_ns)]
            if allowed:
                return min(allowed, key=self._load)
        if tried or not pools:
            return None
        return min(self._untried(pools[0], tried=()), key=self._load)

    def started(self, candidate: Candidate) -> None:
        """A call goes out."""
        state = self._state(candidate)
        self._uses += 1
        state.last_used = self._uses
        state.in_flight += 1
        state.breaker.started()

    def ended(self, candidate: Candidate, *, success: bool | None) -> None:
        """A call is over. `success` is None when its end says nothing about the replica."""
        state = self._state(candidate)
        state.in_flight -= 1
        if success is None:
            state.breaker.abandoned()
        elif success:
            state.breaker.succeeded()
        else:
            state.breaker.failed(self._clock.monotonic_ns())

    def is_open(self, pool: Pool, replica: Replica) -> bool:
        """Whether the breaker of this replica is open."""
        return self._state(Candidate(pool, replica)).breaker.is_open

    def _untried(self, pool: Pool, *, tried: Collection[Candidate]) -> list[Candidate]:
        keys = {candidate.key for candidate in tried}
        found = [Candidate(pool, replica) for replica in pool.replicas]
        return [candidate for candidate in found if candidate.key not in keys]

    def _load(self, candidate: Candidate) -> tuple[int, int]:
        state = self._state(candidate)
        return state.in_flight, state.last_used

    def _state(self, candidate: Candidate) -> _State:
        return self._states.setdefault(candidate.key, _State())
