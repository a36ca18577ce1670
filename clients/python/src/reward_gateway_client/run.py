"""The synchronous client of a run: runs the asynchronous one in its own thread."""

import copy
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from .async_run import AsyncRun
from .errors import CursorLost
from .exchange import MAX_BODY_BYTES
from .finals import Accepted, Credits, Final, Partial, RunStatus
from .loop_thread import LoopThread
from .result import Result
from .sample import SampleLike


class Run:
    """Like AsyncRun. Threads can share it; a forked process needs its own.

    with Run("http://gateway:8080", "run-7", reward="math") as run:
        run.submit({"prompt": "6 * 7?", "response": "42", "ground_truth": "42"}, "r-1")
        for final in run.finals(follow=False):
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
        self._adopt(
            AsyncRun(
                url,
                run,
                api_key,
                reward=reward,
                deadline_s=deadline_s,
                timeout_s=timeout_s,
                after=after,
                cursor_file=cursor_file,
                max_connections=max_connections,
                max_body_bytes=max_body_bytes,
                verify=verify,
                trust_env=trust_env,
            )
        )

    def _adopt(self, run: AsyncRun) -> None:
        self._run = run
        self._thread = LoopThread()
        self.close = weakref.finalize(self, _close, self._run, self._thread)
        """Frees the connections, and ends the thread and its pending calls. Runs automatically when the client is
        garbage collected or the process exits."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), copy.copy(self._run))

    @property
    def url(self) -> str:
        return self._run.url

    @property
    def run(self) -> str:
        return self._run.run

    @property
    def cursor(self) -> str:
        """Like AsyncRun.cursor."""
        return self._run.cursor

    @property
    def credits(self) -> Credits | None:
        """Like AsyncRun.credits."""
        return self._run.credits

    def submit(
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
        """Like AsyncRun.submit. Submissions of many threads share requests."""
        return self._thread.run(
            self._run.submit(
                sample,
                uid,
                reward=reward,
                training_step=training_step,
                deadline_s=deadline_s,
                priority=priority,
                attempt=attempt,
                partial=partial,
            )
        )

    def submit_many(
        self,
        samples: Iterable[SampleLike] | Mapping[str, SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
        partial: bool = False,
    ) -> list[Accepted]:
        """Like AsyncRun.submit_many."""
        return self._thread.run(
            self._run.submit_many(
                samples,
                reward=reward,
                training_step=training_step,
                deadline_s=deadline_s,
                priority=priority,
                partial=partial,
            )
        )

    def finals(
        self,
        after: str | None = None,
        *,
        follow: bool = True,
        wait_s: float = 30.0,
        on_lost: Callable[[CursorLost], object] | None = None,
        on_partial: Callable[[Partial], object] | None = None,
    ) -> Iterator[Final]:
        """Like AsyncRun.finals. `on_lost` and `on_partial` are called in the thread of the client."""
        found = self._run.finals(after, follow=follow, wait_s=wait_s, on_lost=on_lost, on_partial=on_partial)
        return self._thread.each(found)

    def score(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
    ) -> list[Result]:
        """Like AsyncRun.score."""
        return self._thread.run(
            self._run.score(
                samples, reward=reward, training_step=training_step, deadline_s=deadline_s, priority=priority
            )
        )

    def stream(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        deadline_s: float | None = None,
        priority: int = 0,
    ) -> Iterator[tuple[int, Result]]:
        """Like AsyncRun.stream."""
        return self._thread.each(
            self._run.stream(
                samples, reward=reward, training_step=training_step, deadline_s=deadline_s, priority=priority
            )
        )

    def wait(self, uid: str) -> Final:
        """Like AsyncRun.wait."""
        return self._thread.run(self._run.wait(uid))

    def cancel(
        self, uid: str | None = None, *, group: str | int | None = None, policy_version_below: float | None = None
    ) -> int:
        """Like AsyncRun.cancel."""
        return self._thread.run(self._run.cancel(uid, group=group, policy_version_below=policy_version_below))

    def status(self) -> RunStatus:
        """Like AsyncRun.status."""
        return self._thread.run(self._run.status())

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _made(kind: type[Run], run: AsyncRun) -> Run:
    """Creates a client with the settings of another one."""
    client = kind.__new__(kind)
    client._adopt(run)
    return client


def _close(run: AsyncRun, thread: LoopThread) -> None:
    if thread.usable():
        thread.close(run.close)
