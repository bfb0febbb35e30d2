"""A circuit breaker for one replica.

Refused connections count like every other failure: a dead host is the plainest case.
"""

FAILURES_TO_OPEN = 5
OPEN_NS = 30_000_000_000


class Breaker:
    """Closed at first; open after five failures in a row; after 30 s one probe decides.

    Times are monotonic nanoseconds. Not safe across threads: one event loop owns it.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._opened_ns: int | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether the replica is taken to be broken."""
        return self._opened_ns is not None

    def allows(self, now_ns: int) -> bool:
        """Whether a call may go out: it is closed, or a probe is due and none is under way."""
        if self._opened_ns is None:
            return True
        return not self._probing and now_ns - self._opened_ns >= OPEN_NS

    def started(self) -> None:
        """A call goes out; on an open breaker it is the probe."""
        self._probing = self.is_open

    def succeeded(self) -> None:
        """The replica answered."""
        self._failures = 0
        self._opened_ns = None
        self._probing = False

    def failed(self, now_ns: int) -> None:
        """The replica did not answer."""
        self._failures += 1
        self._probing = False
        if self.is_open or self._failures >= FAILURES_TO_OPEN:
            self._opened_ns = now_ns

    def abandoned(self) -> None:
        """The call ended for a reason that says nothing about the replica."""
        self._probing = False
