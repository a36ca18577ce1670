"""Retries of a call. Scoring has no side effects, so a call without a response may be sent again."""

import copy
import logging
import random
import time
from collections.abc import Callable

from .errors import GatewayRefused, GatewayUnreachable, RewardGatewayError

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0
TELLS_AFTER = 6
"""Failed tries of a call after which a line of the log says that it waits: some seconds."""
TELLS_EVERY_S = 60.0

_log = logging.getLogger("reward_gateway_client")
_told_at = -TELLS_EVERY_S
"""When a call of this process last said that it waits."""


class Tries:
    """The tries of one call: at most `retries` after the first, within `timeout_s`. A pause is at most `longest_s`, or
    as long as the gateway says."""

    def __init__(
        self,
        timeout_s: float,
        retries: float,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        *,
        longest_s: float = LONGEST_PAUSE_S,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._timeout_s = timeout_s
        self._ends = clock() + timeout_s
        self._retries = retries
        self._longest_s = longest_s
        self._failed = 0
        self._last = ""
        """The failure of the last try."""

    def again(self) -> "Tries":
        """The tries of another request of the same call, which ends at the same time."""
        other = copy.copy(self)
        other._failed, other._last = 0, ""
        return other

    def remaining_s(self) -> float:
        """The remaining seconds, more than 0. Raises GatewayUnreachable if there are none."""
        left = self._ends - self._clock()
        if left <= 0:
            raise self.over()
        return left

    def pause_s(self, failure: Exception, retry_after: str | None = None) -> float:
        """The wait before the next try, in seconds. Raises if there is no next try: the gateway refused the call, the
        tries are used up, or the wait would exceed the remaining time."""
        self._failed += 1
        if isinstance(failure, GatewayRefused) and not may_pass(failure):
            raise failure
        self._last = described(failure)
        if self._failed > self._retries:
            raise self.over() from failure
        doubled = min(FIRST_PAUSE_S * 2.0 ** min(self._failed - 1, 30), self._longest_s)
        asked = seconds_of(retry_after)
        pause = max(doubled * (0.5 + self._chance() / 2), asked)
        left = self._ends - self._clock()
        if pause >= left:
            wait = f", Retry-After {asked:g} s with {max(left, 0):.3g} s left" if asked >= left else ""
            raise self.over(wait) from failure
        if self._failed >= TELLS_AFTER:
            self._tell(left)
        return pause

    def _tell(self, left: float) -> None:
        """One line a minute, however many calls wait."""
        global _told_at
        now = time.monotonic()
        if now - _told_at >= TELLS_EVERY_S:
            _told_at = now
            _log.warning("%s; trying for %.0f s more", self.over(), left)

    def over(self, wait: str = "") -> RewardGatewayError:
        """The error of a call whose time is up."""
        tries = f"{self._failed} failed {'try' if self._failed == 1 else 'tries'}"
        last = f": {self._last}{wait}" if self._last else ""
        return GatewayUnreachable(f"no response from the gateway after {tries} within {self._timeout_s:g} s{last}")


def may_pass(failure: GatewayRefused) -> bool:
    """True if the same request may succeed later. RG_SAMPLES_FAILED is final, because the gateway retried already."""
    if failure.code == "RG_SAMPLES_FAILED":
        return False
    return failure.status >= 500 or failure.status in (408, 425, 429)


def described(failure: Exception) -> str:
    """One line: the status and first line of a response, or the class of the exception."""
    if isinstance(failure, GatewayRefused):
        first = str(failure).partition("\n")[0]
        return first if first.startswith("HTTP ") else f"HTTP {failure.status} {first}"
    said = str(failure).partition("\n")[0]
    return f"{type(failure).__name__}: {said}" if said else type(failure).__name__


def seconds_of(retry_after: str | None) -> float:
    """A Retry-After header in seconds. 0 if it is absent or a date, which the gateway never sends."""
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        return 0.0
