"""The asynchronous client of a run whose rollouts are scored from the gateway's queue."""

import asyncio
import copy
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from .connection import Connections
from .cursor_file import read_cursor, write_cursor
from .errors import CursorLost, GatewayRefused, RewardGatewayError, RolloutsRefused
from .exchange import MAX_BODY_BYTES, not_a_gateway
from .final_reader import FinalReader
from .final_waits import FinalWaits
from .finals import Accepted, Credits, Final, Partial, RunStatus
from .plain import to_json
from .result import Result
from .sample import SampleLike
from .settings import api_key_or_env, named_run_or_env, reward_or_env, trust_env_or_env, url_or_env
from .submission import Line, grouped, line_of, run_name
from .submitter import Submitter
from .wandb_log import log_results, log_stalls

_ABANDON_S = 0.05
_OF_THE_LOOP = ("_reader", "_submitter", "_waits", "_abandoned", "_cancelling", "_cancels")


class AsyncRun:
    """Submits rollouts to a run and reads their finals, over few connections. For one event loop.

    `timeout_s` is how long the gateway may be away, or without room, before a call raises GatewayUnreachable.
    `deadline_s` is how long a rollout may wait for its reward; the default is the gateway's. `after` is the cursor that
    `finals` begins at; with `cursor_file`, the file's. A pickled client has the same settings, including the key.

        async with AsyncRun("http://gateway:8080", "run-7", reward="math") as run:
            await run.submit({"prompt": "6 * 7?", "response": "42", "ground_truth": "42"}, "r-1")
            async for final in run.finals():
                print(final.uid, final.result.reward)
    """

    def __init__(
        self,
        url: str | None = None,
        run: str | None = None,
        api_key: str | None = None,
        *,
        reward: str | None = None,
        deadline_s: float | None = None,
        timeout_s: float = 600.0,
        after: str | None = None,
        cursor_file: "str | os.PathLike[str] | None" = None,
        max_connections: int = 4,
        max_body_bytes: int = MAX_BODY_BYTES,
        verify: Any = True,
        trust_env: bool | None = None,
    ) -> None:
        self.url = url_or_env(url)
        self.run = run_name(named_run_or_env(run))
        self._reward = reward
        self._deadline_s = deadline_s
        self._timeout_s = timeout_s
        self._max_body_bytes = max_body_bytes
        self._cursor_file = None if cursor_file is None else Path(cursor_file)
        self._after = after
        self._connections = Connections(
            self.url,
            api_key_or_env(api_key),
            most=max_connections,
            verify=verify,
            trust_env=trust_env_or_env(trust_env),
        )
        self._begin()

    def _begin(self) -> None:
        path = f"/v1/runs/{self.run}"
        self._reader = FinalReader(self._connections, path, self._timeout_s)
        self._submitter = Submitter(self._connections, f"{path}/rollouts", self._max_body_bytes)
        self._waits = FinalWaits(self._reader)
        self._abandoned: list[str] = []
        self._cancelling: asyncio.TimerHandle | None = None
        self._cancels: set[asyncio.Task[None]] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _OF_THE_LOOP}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "_connections": copy.copy(state["_connections"])})
        self._begin()

    @property
    def cursor(self) -> str:
        """That of the last final of `finals` whose turn of the loop has ended; '' before the first. Save it with a
        checkpoint, and give it as `after` to go on there. The final whose turn had not ended comes again: each comes
        at least once, and exactly once to whoever saves the cursor together with what the final changed. A cursor is of
        one run. It stays good over restarts of the gateway, and raises CursorLost once finals behind it are gone."""
        if self._after is None:
            self._after = read_cursor(self._cursor_file)
        return self._after

    @property
    def credits(self) -> Credits | None:
        """What the gateway would accept, as of its last reply to a submission. None before the first one."""
        return self._submitter.credits

    async def submit(
        self,
        sample: SampleLike,
        uid: str | None = None,
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
        attempt: int | None = None,
        partial: bool = False,
    ) -> Accepted:
        """Returns once the rollout is on the gateway's disk. Submissions of many tasks share requests. The same uid and
        sample again is the same rollout; another sample is a newer attempt. Without a uid, it gets a new one. `partial`
        asks for an early result, too: see `finals`."""
        line = self._line(sample, uid, reward, training_step, deadline_s, priority, attempt, partial=partial)
        return await self._submitter.send(line, self._reader.tries())

    async def submit_many(
        self,
        samples: Iterable[SampleLike] | Mapping[str, SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
        partial: bool = False,
    ) -> list[Accepted]:
        """Submits samples, or samples by uid. Returns what became of each, in order. One that is refused does not cost
        the others: RolloutsRefused names those that were, once the others are accepted."""
        given = samples.items() if isinstance(samples, Mapping) else ((None, sample) for sample in samples)
        pictures: dict[int, str] = {}
        uids: list[str] = []
        results: list[Accepted | BaseException] = []
        lines: list[Line] = []
        size = 0
        for uid, sample in given:
            lines.append(
                self._line(sample, uid, reward, training_step, deadline_s, priority, None, pictures, partial=partial)
            )
            uids.append(lines[-1].uid)
            size += len(lines[-1].text)
            if size > 2 * self._max_body_bytes:
                # So that not all of them are in memory as text.
                results += await self._sent(lines)
                lines, size = [], 0
        results += await self._sent(lines)
        refused = {uid: one for uid, one in zip(uids, results, strict=True) if isinstance(one, GatewayRefused)}
        for one in results:
            if isinstance(one, BaseException) and not isinstance(one, GatewayRefused):
                raise one
        if refused:
            first = next(iter(refused.items()))
            raise RolloutsRefused(
                f"{len(refused)} of {len(uids)} rollouts were refused; {first[0]!r}: {first[1]}", refused=refused
            )
        return [one for one in results if isinstance(one, Accepted)]

    async def finals(
        self,
        after: str | None = None,
        *,
        follow: bool = True,
        wait_s: float = 30.0,
        on_lost: Callable[[CursorLost], object] | None = None,
        on_partial: Callable[[Partial], object] | None = None,
    ) -> AsyncGenerator[Final, None]:
        """Yields each final of the run once, in order of completion, from the cursor on. Goes on over restarts of the
        gateway. Without `follow`, ends once no rollout is unfinished. Raises GatewayUnreachable, and CursorLost if
        finals behind the cursor are gone; with `on_lost`, calls that with the error instead and goes on with what is
        left. With `on_partial`, calls that with each early result of the rollouts that asked for one. One loop at a
        time."""
        at = self.cursor if after is None else after
        waits = follow
        while True:
            try:
                seconds = min(wait_s, 60.0) if waits else 0
                page = await self._reader.page(at, seconds, partials=on_partial is not None)
            except CursorLost as lost:
                if on_lost is None or at == lost.go_on:
                    raise
                on_lost(lost)
                at = lost.go_on
                self._passed(at)
                continue
            if on_partial is not None:
                for row in page.partials:
                    partial = Partial.read(row)
                    on_partial(partial)
                    at = partial.cursor
                    self._passed(at)
            for row in page.rows:
                final = Final.read(row)
                yield final
                at = final.cursor
                self._passed(at)
            waits = follow or page.unfinished > 0
            if not page.rows and not page.partials:
                if not waits:
                    return
                # A gateway that shuts down answers at once.
                await asyncio.sleep(0.1)

    async def score(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
    ) -> list[Result]:
        """Like AsyncRewardGateway.score, through the queue: any number of calls share a few connections, and go on over
        restarts of the gateway. Cancelling the call cancels its rollouts."""
        rows = list(samples)
        if len(rows) == 1:
            line = self._line(rows[0], None, reward, training_step, deadline_s, priority)
            results = [await self._scored(line)]
        else:
            found = self.stream(
                rows, reward=reward, training_step=training_step, deadline_s=deadline_s, priority=priority
            )
            async with aclosing(found) as stream:
                ready = {index: result async for index, result in stream}
            results = [ready[index] for index in range(len(rows))]
        if log_results(results):
            await log_stalls(self._connections, self.run)
        return results

    async def stream(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
    ) -> AsyncGenerator[tuple[int, Result], None]:
        """Like AsyncRewardGateway.stream, through the queue."""
        rows = list(samples)
        if not rows:
            raise ValueError("no samples")
        ready: asyncio.Queue[tuple[int, Result | Exception]] = asyncio.Queue()
        pictures: dict[int, str] = {}

        async def follow(index: int, line: Line) -> None:
            try:
                ready.put_nowait((index, await self._scored(line)))
            except Exception as error:
                ready.put_nowait((index, error))

        tasks = [
            asyncio.create_task(
                follow(index, self._line(row, None, reward, training_step, deadline_s, priority, None, pictures))
            )
            for index, row in enumerate(grouped(rows))
        ]
        try:
            for _ in tasks:
                index, found = await ready.get()
                if isinstance(found, Exception):
                    raise found
                yield index, found
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self, uid: str) -> Final:
        """The final of a rollout that was submitted before, also by another process. Raises RolloutLost, and
        GatewayRefused with the status 404 if the gateway does not know it."""
        return await self._waits.of(uid)

    async def cancel(
        self, uid: str | None = None, *, group: str | int | None = None, policy_version_below: float | None = None
    ) -> int:
        """Gives rollouts without a final the final `cancelled`: this one, those of this group (`group_id` of their
        samples), or those that a policy older than this version began. Returns how many."""
        named = {"uid": uid, "group": group, "policy_version_below": policy_version_below}
        body = {name: value for name, value in named.items() if value is not None}
        if not body:
            raise ValueError("name a uid, a group or a version")
        content = await self._reader.ask("POST", "/cancel", to_json(body))
        try:
            return int(json.loads(content)["cancelled"])
        except (KeyError, TypeError, ValueError) as error:
            raise not_a_gateway(content) from error

    async def status(self) -> RunStatus:
        """How many rollouts of the run are unfinished, and more."""
        return await self._reader.status()

    async def close(self) -> None:
        """Ends what is under way. The gateway goes on with what it has accepted."""
        if self._cancelling is not None:
            self._cancelling.cancel()
        tasks = [*self._cancels, *self._submitter.end(), *self._waits.end()]
        # Those of a closed loop have nobody to tell.
        tasks = [task for task in tasks if not task.done() and not task.get_loop().is_closed()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._connections.close()

    async def __aenter__(self) -> "AsyncRun":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _line(
        self,
        sample: SampleLike,
        uid: str | None,
        reward: str | None,
        training_step: int | None,
        deadline_s: float | None,
        priority: int,
        attempt: int | None = None,
        pictures: dict[int, str] | None = None,
        *,
        partial: bool = False,
    ) -> Line:
        return line_of(
            sample,
            uid,
            reward=reward_or_env(reward or self._reward),
            training_step=training_step,
            deadline_s=self._deadline_s if deadline_s is None else deadline_s,
            priority=priority,
            attempt=attempt,
            partial=partial,
            pictures=pictures,
        )

    async def _sent(self, lines: Iterable[Line]) -> "list[Accepted | BaseException]":
        sending = [self._submitter.send(line, self._reader.tries()) for line in lines]
        return await asyncio.gather(*sending, return_exceptions=True)

    async def _scored(self, line: Line) -> Result:
        try:
            final = await self._waits.of(line.uid, lambda: self._submitter.send(line, self._reader.tries()))
        except asyncio.CancelledError:
            self._abandon(line.uid)
            raise
        return final.result

    def _abandon(self, uid: str) -> None:
        """Cancels a rollout whose call was cancelled. A little later, and not at all in a loop that ends."""
        self._abandoned.append(uid)
        if self._cancelling is None:
            self._cancelling = asyncio.get_running_loop().call_later(_ABANDON_S, self._cancel_abandoned)

    def _cancel_abandoned(self) -> None:
        uids, self._abandoned, self._cancelling = self._abandoned, [], None
        if self._waits.is_ending:
            return

        async def cancel_all() -> None:
            with suppress(RewardGatewayError):
                for uid in uids:
                    await self.cancel(uid)

        task = asyncio.get_running_loop().create_task(cancel_all())
        self._cancels.add(task)
        task.add_done_callback(self._cancels.discard)

    def _passed(self, cursor: str) -> None:
        self._after = cursor
        if self._cursor_file is not None:
            write_cursor(self._cursor_file, cursor)
