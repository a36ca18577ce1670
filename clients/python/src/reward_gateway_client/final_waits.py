"""Waits for single rollouts: however many wait, one request at a time reads the finals of the run."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .errors import ClientUnusable, CursorLost, GatewayRefused, RolloutLost
from .final_reader import FinalReader
from .finals import FINAL_STATES, Accepted, Final

_WAIT_S = 30.0
_STALE_S = 60.0
"""After so long without reading, the next wait begins at the newest final."""
_NEWEST = 0
"""Instead of an attempt: whichever is the newest."""
_EMPTY_PAUSE_S = 0.25
"""Before the next request if an empty page came at once, as from a gateway that shuts down."""


class _Wait:
    """One rollout's wait. Its final may come before the reply to its submission, which names its attempt."""

    __slots__ = ("attempt", "early", "final", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.attempt: int | None = None
        self.early: dict[int, Any] = {}
        self.final: asyncio.Future[Final] = asyncio.get_running_loop().create_future()

    def accepted(self, attempt: int) -> None:
        self.attempt = attempt
        for found, row in self.early.items():
            self.offer(found, row)
        self.early.clear()

    def offer(self, attempt: int, row: Any) -> None:
        if self.final.done():
            return
        if self.attempt is None:
            self.early[attempt] = row
        elif attempt == self.attempt or self.attempt == _NEWEST:
            self.final.set_result(Final.read(row))
        elif attempt > self.attempt:
            self.lose(f"attempt {self.attempt} of the rollout {self.uid!r} was replaced by attempt {attempt}")

    def lose(self, why: str) -> None:
        self.fail(RolloutLost(why, uid=self.uid))

    def fail(self, error: BaseException) -> None:
        if not self.final.done():
            self.final.set_exception(error)

    def leave(self) -> None:
        if not self.final.cancel() and not self.final.cancelled():
            self.final.exception()


class FinalWaits:
    """Gives finals to those who wait for them."""

    def __init__(self, reader: FinalReader) -> None:
        self._reader = reader
        self._waits: dict[str, list[_Wait]] = {}
        self._cursor: str | None = None
        self._read_at = 0.0
        self._beginning: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def of(self, uid: str, submit: Callable[[], Awaitable[Accepted]] | None = None) -> Final:
        """The final of the attempt that `submit` submits, or of the newest one. Raises RolloutLost if it gets none, and
        what `submit` raises."""
        wait = _Wait(uid)
        self._waits.setdefault(uid, []).append(wait)
        try:
            # The finals are read from a point before the submission.
            await self._begun()
            self._read()
            if submit is None:
                found = await self._reader.final_of(uid)
                wait.accepted(_NEWEST)
                return found or await wait.final
            accepted = await submit()
            if accepted.state == "replaced":
                wait.lose(f"these bytes are attempt {accepted.attempt} of the rollout {uid!r}, which has a newer one")
            elif accepted.state in FINAL_STATES:
                found = await self._reader.final_of(uid)
                if found is not None and found.attempt == accepted.attempt:
                    return found
            wait.accepted(accepted.attempt)
            return await wait.final
        finally:
            wait.leave()
            left = self._waits[uid]
            left.remove(wait)
            if not left:
                del self._waits[uid]

    @property
    def is_ending(self) -> bool:
        """The event loop ends: it has cancelled what reads. A task that starts now would never be awaited."""
        return self._reading is None or self._reading.cancelled()

    def end(self) -> "Iterable[asyncio.Task[None]]":
        """Ends all waits, and returns the tasks to cancel."""
        self._fail_all(ClientUnusable("this client was closed while rollouts were waited for"))
        return [task for task in (self._beginning, self._reading) if task is not None]

    async def _begun(self) -> None:
        is_reading = self._reading is not None and not self._reading.done()
        if self._cursor is not None and (is_reading or time.monotonic() - self._read_at < _STALE_S):
            return
        if self._beginning is None or self._beginning.done():
            self._beginning = asyncio.get_running_loop().create_task(self._begin())
            self._beginning.add_done_callback(_heard)
        await asyncio.shield(self._beginning)

    async def _begin(self) -> None:
        self._cursor = (await self._reader.status()).cursor
        self._read_at = time.monotonic()

    def _read(self) -> None:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().create_task(self._read_on())

    async def _read_on(self) -> None:
        try:
            while self._waits:
                began = time.monotonic()
                try:
                    page = await self._reader.page(self._cursor or "", _WAIT_S)
                except CursorLost:
                    self._cursor = (await self._reader.status()).cursor
                    await self._look_up()
                    continue
                self._read_at = time.monotonic()
                self._cursor = page.cursor or self._cursor
                for row in page.rows:
                    for wait in self._waits.get(row["uid"], ()):
                        wait.offer(row["attempt"], row)
                if page.rows:
                    # Those who got their finals leave.
                    await asyncio.sleep(0)
                    continue
                if page.unfinished == 0:
                    await self._look_up()
                if time.monotonic() - began < _EMPTY_PAUSE_S:
                    await asyncio.sleep(_EMPTY_PAUSE_S)
        except Exception as error:
            self._fail_all(error)

    async def _look_up(self) -> None:
        """Asks for each rollout that is waited for, where its final may have been missed."""
        for wait in [wait for wait in self._all() if wait.attempt is not None]:
            try:
                found = await self._reader.final_of(wait.uid)
            except GatewayRefused as refused:
                if refused.status != 404:
                    raise
                wait.lose(
                    f"the gateway no longer knows the rollout {wait.uid!r}: its final expired, or its queue was lost"
                )
                continue
            if found is not None and not wait.final.done():
                if wait.attempt in (_NEWEST, found.attempt):
                    wait.final.set_result(found)
                else:
                    wait.lose(f"attempt {wait.attempt} of the rollout {wait.uid!r} was replaced")

    def _all(self) -> Iterable[_Wait]:
        return [wait for waits in self._waits.values() for wait in waits]

    def _fail_all(self, error: Exception) -> None:
        for wait in self._all():
            wait.fail(error)


def _heard(task: "asyncio.Task[None]") -> None:
    """Those who waited for the task have its error, or nobody did."""
    if not task.cancelled():
        task.exception()
