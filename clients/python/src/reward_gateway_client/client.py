"""The synchronous client: runs the asynchronous one in its own thread."""

import copy
import weakref
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from .aio import AsyncRewardGateway
from .exchange import MAX_BODY_BYTES
from .loop_thread import LoopThread
from .result import Result
from .sample import SampleLike


class RewardGateway:
    """Like AsyncRewardGateway. Threads can share it; a forked process needs its own.

    with RewardGateway("http://gateway:8080", reward="gsm8k") as gateway:
        for result in gateway.score([{"prompt": "6 * 7?", "response": "#### 42", "ground_truth": "42"}]):
            print(result.reward, result.failure)
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        reward: str | None = None,
        run: str | None = None,
        timeout_s: float | None = None,
        retries: float | None = None,
        max_connections: int = 1024,
        max_body_bytes: int = MAX_BODY_BYTES,
        verify: Any = True,
        trust_env: bool | None = None,
    ) -> None:
        self._adopt(
            AsyncRewardGateway(
                url,
                api_key,
                reward=reward,
                run=run,
                timeout_s=timeout_s,
                retries=retries,
                max_connections=max_connections,
                max_body_bytes=max_body_bytes,
                verify=verify,
                trust_env=trust_env,
            )
        )

    def _adopt(self, gateway: AsyncRewardGateway) -> None:
        self._gateway = gateway
        self._thread = LoopThread()
        self.close = weakref.finalize(self, _close, self._gateway, self._thread)
        """Frees the connections, and ends the thread and its pending calls. Runs automatically when the client is
        garbage collected or the process exits."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), copy.copy(self._gateway))

    @property
    def url(self) -> str:
        return self._gateway.url

    def score(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
        progress: bool = False,
    ) -> list[Result]:
        """Like AsyncRewardGateway.score."""
        return self._thread.run(
            self._gateway.score(
                samples, reward=reward, training_step=training_step, timeout_s=timeout_s, progress=progress
            )
        )

    def stream(
        self,
        samples: Iterable[SampleLike],
        *,
        reward: str | None = None,
        training_step: int | None = None,
        timeout_s: float | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Like AsyncRewardGateway.stream."""
        return self._thread.each(
            self._gateway.stream(samples, reward=reward, training_step=training_step, timeout_s=timeout_s)
        )

    def post(self, path: str, body: Any, *, group: object = None, timeout_s: float | None = None) -> bytes:
        """Like AsyncRewardGateway.post."""
        return self._thread.run(self._gateway.post(path, body, group=group, timeout_s=timeout_s))

    def __enter__(self) -> "RewardGateway":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _made(kind: type[RewardGateway], gateway: AsyncRewardGateway) -> RewardGateway:
    """Creates a client with the settings of another one."""
    client = kind.__new__(kind)
    client._adopt(gateway)
    return client


def _close(gateway: AsyncRewardGateway, thread: LoopThread) -> None:
    if thread.usable():
        thread.close(gateway.close)
