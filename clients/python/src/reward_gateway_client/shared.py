"""Clients that adapters share, one per process (and event loop) and URL, so that connections are reused."""

import asyncio
import atexit
import os
import threading
from contextlib import suppress

from .aio import AsyncRewardGateway
from .client import RewardGateway
from .settings import api_key_or_env, url_or_env

_lock = threading.Lock()
_waiting: dict[tuple[int, str, str | None], RewardGateway] = {}
_awaiting: dict[asyncio.AbstractEventLoop, dict[tuple[str, str | None], AsyncRewardGateway]] = {}


def shared_gateway(url: str | None = None, api_key: str | None = None) -> RewardGateway:
    """A forked process gets its own client, because processes must not share a connection."""
    key = (os.getpid(), url_or_env(url), api_key_or_env(api_key))
    with _lock:
        if key not in _waiting:
            _waiting[key] = RewardGateway(key[1], key[2])
        return _waiting[key]


def shared_async_gateway(url: str | None = None, api_key: str | None = None) -> AsyncRewardGateway:
    """The client of the running event loop. Removed when the loop is closed."""
    key = (url_or_env(url), api_key_or_env(api_key))
    loop = asyncio.get_running_loop()
    with _lock:
        if loop not in _awaiting:
            for other in [other for other in _awaiting if other.is_closed()]:
                _leave(other)
        clients = _awaiting.setdefault(loop, {})
        if key not in clients:
            clients[key] = AsyncRewardGateway(*key)
        return clients[key]


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
