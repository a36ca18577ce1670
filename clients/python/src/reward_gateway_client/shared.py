"""Clients that adapters share, one per process (and event loop) and gateway, so that connections are reused."""

import asyncio
import atexit
import math
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from .aio import AsyncRewardGateway
from .async_run import AsyncRun
from .client import RewardGateway
from .result import Result
from .run import Run
from .sample import SampleLike
from .settings import adapter_retries, api_key_or_env, named_run_or_env, queue_of_env, timeout_or_env, url_or_env

_Key = tuple[str, str | None, str | None, float]
"""The gateway, its key, the run if it is a client of the queue, and the tries after the first of a call."""
_Kept = TypeVar("_Kept", RewardGateway, Run)
_Awaited = TypeVar("_Awaited", AsyncRewardGateway, AsyncRun)

_lock = threading.Lock()
_waiting: dict[tuple[int, _Key], RewardGateway | Run] = {}
_awaiting: dict[asyncio.AbstractEventLoop, dict[_Key, AsyncRewardGateway | AsyncRun]] = {}


async def score_shared(
    samples: Sequence[SampleLike],
    *,
    url: str | None = None,
    api_key: str | None = None,
    reward: str,
    timeout_s: float | None = None,
) -> list[Result]:
    """Scores the samples of one call; a group's are compared. Tries for `timeout_s`, by default as long as
    REWARD_GATEWAY_TIMEOUT_S says, or 600 s. If REWARD_GATEWAY_QUEUE is on, through the queue of the
    run that REWARD_GATEWAY_RUN names: all calls of a process share a few connections and go on over restarts of the
    gateway, and `timeout_s` is the rollouts' deadline. Otherwise, each call is a request that is held."""
    timeout_s = timeout_or_env(timeout_s)
    if queue_of_env():
        run = shared_async_run(url, api_key)
        return await run.score(samples, reward=reward, deadline_s=timeout_s)
    gateway = shared_async_gateway(url, api_key)
    return await gateway.score(samples, reward=reward, timeout_s=timeout_s)


def score_shared_sync(
    samples: Sequence[SampleLike], *, url: str | None = None, reward: str, timeout_s: float | None = None
) -> list[Result]:
    """The same for threads."""
    timeout_s = timeout_or_env(timeout_s)
    if queue_of_env():
        return shared_run(url).score(samples, reward=reward, deadline_s=timeout_s)
    return shared_gateway(url).score(samples, reward=reward, timeout_s=timeout_s)


def shared_gateway(
    url: str | None = None, api_key: str | None = None, *, retries: float | None = None
) -> RewardGateway:
    """A forked process gets its own client, because processes must not share a connection."""
    key = (url_or_env(url), api_key_or_env(api_key), None, adapter_retries(retries))
    return _kept(key, RewardGateway, lambda: RewardGateway(key[0], key[1], retries=key[3]))


def shared_run(url: str | None = None, api_key: str | None = None) -> Run:
    """The run that REWARD_GATEWAY_RUN names. A forked process gets its own client."""
    key = (url_or_env(url), api_key_or_env(api_key), named_run_or_env(None), math.inf)
    return _kept(key, Run, lambda: Run(key[0], key[2], key[1]))


def shared_async_gateway(
    url: str | None = None, api_key: str | None = None, *, retries: float | None = None
) -> AsyncRewardGateway:
    """The client of the running event loop. Removed when the loop is closed."""
    key = (url_or_env(url), api_key_or_env(api_key), None, adapter_retries(retries))
    return _awaited(key, AsyncRewardGateway, lambda: AsyncRewardGateway(key[0], key[1], retries=key[3]))


def shared_async_run(url: str | None = None, api_key: str | None = None) -> AsyncRun:
    """The run that REWARD_GATEWAY_RUN names, for the running event loop. Removed when the loop is closed."""
    key = (url_or_env(url), api_key_or_env(api_key), named_run_or_env(None), math.inf)
    return _awaited(key, AsyncRun, lambda: AsyncRun(key[0], key[2], key[1]))


def _kept(key: _Key, kind: type[_Kept], create: Callable[[], _Kept]) -> _Kept:
    own = (os.getpid(), key)
    with _lock:
        client = _waiting.get(own)
        if not isinstance(client, kind):
            client = _waiting[own] = create()
        return client


def _awaited(key: _Key, kind: type[_Awaited], create: Callable[[], _Awaited]) -> _Awaited:
    loop = asyncio.get_running_loop()
    with _lock:
        if loop not in _awaiting:
            for other in [other for other in _awaiting if other.is_closed()]:
                _leave(other)
        clients = _awaiting.setdefault(loop, {})
        client = clients.get(key)
        if not isinstance(client, kind):
            client = clients[key] = create()
        return client


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    """Closes the clients of a loop other than the running one. Otherwise aiohttp would warn about each."""
    for client in _awaiting.pop(loop).values():
        closing = client.close()
        if loop.is_running():
            asyncio.run_coroutine_threadsafe(closing, loop).result(1)
        elif not loop.is_closed():
            loop.run_until_complete(closing)
        else:
            # There is nothing to wait for without the loop: one step marks everything closed.
            with suppress(StopIteration):
                closing.send(None)
            closing.close()


@atexit.register
def _leave_all() -> None:
    for loop in list(_awaiting):
        with suppress(Exception):
            _leave(loop)
