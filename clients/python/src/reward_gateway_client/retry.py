"""When a call is tried again. Scoring has no effects, so a call whose answer was lost may be sent again."""

import random
import time
from collections.abc import Callable

from .errors import GatewayRefused, GatewayUnreachable, RewardGatewayError

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0


class Tries:
    """The tries of one call: until `timeout_s` is over, and at most `retries` after the first."""

    def __init__(
        self,
        timeout_s: float,
        retries: int,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._timeout_s = timeout_s
        self._ends = clock() + timeout_s
        self._retries = retries
        self._failed = 0

    def remaining_s(self) -> float:
        """Seconds left, more than 0; raises GatewayUnreachable when there are none."""
        left = self._ends - self._clock()
        if left <= 0:
            raise self._over()
        return left

    def pause_s(self, failure: Exception, retry_after: str | None = None) -> float:
        """How long to wait before the next try. Raises the failure where another try is of no use: the gateway said
        so, the tries are used up, or the wait would be longer than the time that is left."""
        self._failed += 1
        if isinstance(failure, GatewayRefused) and not may_pass(failure):
            raise failure
        if self._failed > self._retries:
            raise self._over() from failure
        doubled = min(FIRST_PAUSE_S * 2.0 ** (self._failed - 1), LONGEST_PAUSE_S)
        pause = max(doubled * (0.5 + self._chance() / 2), seconds_of(retry_after))
        if pause >= self._ends - self._clock():
            raise self._over() from failure
        return pause

    def _over(self) -> RewardGatewayError:
        tries = f"{self._failed} failed {'try' if self._failed == 1 else 'tries'}"
        return GatewayUnreachable(f"no answer of the gateway after {tries} within {self._timeout_s:g} s")


def may_pass(failure: GatewayRefused) -> bool:
    """True where the same request may be answered later. RG_SAMPLES_FAILED is the gateway's last word: it retried."""
    if failure.code == "RG_SAMPLES_FAILED":
        return False
    return failure.status >= 500 or failure.status in (408, 425, 429)


def seconds_of(retry_after: str | None) -> float:
    """A Retry-After header in seconds; 0 for none, and for a date, which the gateway never sends."""
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        return 0.0
