"""Sends rollouts in batches: all that wait go out together while earlier ones are under way."""

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .connection import PASSING, Connections
from .errors import ClientUnusable, GatewayRefused, RewardGatewayError
from .exchange import not_a_gateway, refusal
from .finals import Accepted, Credits
from .retry import Tries
from .submission import Line

_HEADERS = {"content-type": "application/x-ndjson"}
_LINES = 256
"""The most rollouts of a request."""
_POSTS = 2
"""Requests that are under way at once."""
_POST_S = 60.0
"""The longest time for one request. Sending it again is safe."""


class _Waiting:
    """A line without an answer."""

    __slots__ = ("answer", "line", "tries")

    def __init__(self, line: Line, tries: Tries) -> None:
        self.line = line
        self.tries = tries
        self.answer: asyncio.Future[Accepted] = asyncio.get_running_loop().create_future()

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def is_over(self) -> bool:
        """Its time is up; then it has failed."""
        try:
            self.tries.remaining_s()
        except RewardGatewayError as error:
            self.fail(error)
            return True
        return False

    def leave(self) -> None:
        """Nobody waits any more: the line is not sent, or not again."""
        if not self.answer.cancel() and not self.answer.cancelled():
            self.answer.exception()


class Submitter:
    """The submissions of one run."""

    def __init__(self, connections: Connections, path: str, max_body_bytes: int) -> None:
        self._connections = connections
        self._path = path
        self._max_bytes = max_body_bytes
        self._lines: deque[_Waiting] = deque()
        self._posts: set[asyncio.Task[None]] = set()
        self._resumes_at = 0.0
        self.credits: Credits | None = None
        """As of the last reply."""

    async def send(self, line: Line, tries: Tries) -> Accepted:
        """Returns once the rollout is on the gateway's disk. Waits while the gateway has no room or is away. Raises
        GatewayRefused and GatewayUnreachable."""
        waiting = _Waiting(line, tries)
        self._lines.append(waiting)
        self._start()
        try:
            done, _ = await asyncio.wait([waiting.answer], timeout=tries.remaining_s())
            if not done:
                raise tries.over()
            return waiting.answer.result()
        finally:
            waiting.leave()

    def end(self) -> Iterable[asyncio.Task[None]]:
        """Ends all submissions, and returns the tasks to cancel."""
        for waiting in self._lines:
            waiting.fail(_closed())
        self._lines.clear()
        return list(self._posts)

    def _start(self) -> None:
        if len(self._posts) < _POSTS:
            task = asyncio.get_running_loop().create_task(self._work())
            self._posts.add(task)
            task.add_done_callback(self._posts.discard)

    async def _work(self) -> None:
        while self._lines:
            pause = self._resumes_at - asyncio.get_running_loop().time()
            if pause > 0:
                await asyncio.sleep(pause)
                continue
            batch = self._next()
            if batch:
                if self._lines:
                    self._start()
                await self._post(batch)

    def _next(self) -> list[_Waiting]:
        """The next lines: as many as the gateway has room for, but at least one, whose refusal says how long to
        wait."""
        most, room = _LINES, self._max_bytes
        if self.credits is not None:
            most, room = min(most, self.credits.rollouts), min(room, self.credits.bytes)
        batch: list[_Waiting] = []
        size = 0
        while self._lines:
            first = self._lines[0]
            if first.answer.done() or first.is_over():
                self._lines.popleft()
                continue
            size += len(first.line.text) + 1
            if batch and (len(batch) >= most or size > room):
                break
            batch.append(self._lines.popleft())
        return batch

    async def _post(self, batch: Sequence[_Waiting]) -> None:
        retry_after: str | None = None
        failure: Exception
        try:
            body = b"\n".join(waiting.line.text for waiting in batch)
            async with self._connections.ask("POST", self._path, _POST_S, headers=_HEADERS, body=body) as response:
                content: bytes = await response.read()
                retry_after = response.headers.get("retry-after")
                told = _told(response.status, content)
                if told is not None:
                    self._settle(batch, told, content, retry_after)
                    return
                failure = refusal(response.status, content)
        except PASSING as error:
            failure = error
        except RewardGatewayError as error:
            # The client is closed, or the reply is not a gateway's.
            for waiting in batch:
                waiting.fail(error)
            return
        except asyncio.CancelledError:
            for waiting in batch:
                waiting.fail(_closed())
            raise
        if len(batch) > 1 and isinstance(failure, GatewayRefused) and failure.status == 413:
            # The gateway's limit for a request is lower than this client's.
            self._max_bytes = min(self._max_bytes, len(body) // 2)
            self._lines.extendleft(reversed(batch))
            return
        self._again([(waiting, failure) for waiting in batch], retry_after)

    def _settle(
        self, batch: Sequence[_Waiting], reply: Mapping[str, Any], content: bytes, retry_after: str | None
    ) -> None:
        try:
            results = reply["results"]
            self.credits = Credits.read(reply["credits"])
            if len(results) != len(batch):
                raise ValueError("a result for each line")
            failed: list[tuple[_Waiting, Exception]] = []
            for waiting, one in zip(batch, results, strict=True):
                if "error" in one:
                    error = one["error"]
                    message = f"{error['code']}: {error['message']}"
                    failed.append((waiting, GatewayRefused(message, status=int(error["status"]), code=error["code"])))
                elif not waiting.answer.done():
                    waiting.answer.set_result(Accepted(one["uid"], one["attempt"], one["state"]))
        except (KeyError, TypeError, ValueError) as error:
            raise not_a_gateway(content) from error
        if failed:
            self._again(failed, retry_after)

    def _again(self, failed: Sequence[tuple[_Waiting, Exception]], retry_after: str | None) -> None:
        """Puts lines back whose failure may pass, and pauses."""
        longest = 0.0
        for waiting, failure in reversed(failed):
            if waiting.answer.done():
                continue
            try:
                longest = max(longest, waiting.tries.pause_s(failure, retry_after))
                self._lines.appendleft(waiting)
            except RewardGatewayError as error:
                waiting.fail(error)
        if longest > 0:
            self._resumes_at = max(self._resumes_at, asyncio.get_running_loop().time() + longest)
            self._start()


def _told(status: int, content: bytes) -> "Mapping[str, Any] | None":
    """A reply that says of each line what became of it. A gateway that accepted none answers with an error, too."""
    try:
        reply = json.loads(content)
    except ValueError:
        reply = None
    if isinstance(reply, dict) and "results" in reply:
        return reply
    if status == 202:
        raise not_a_gateway(content, status)
    return None


def _closed() -> ClientUnusable:
    return ClientUnusable("this client was closed during a submission")
