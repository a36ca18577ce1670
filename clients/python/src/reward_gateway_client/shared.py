"""Clients that adapters share: one a process (and event loop) for each address, so that connections are used again."""

import asyncio
import os
import threading
from weakref import WeakKeyDictionary

from .aio import AsyncRewardGateway
from .client import RewardGateway
from .settings import api_key_or_env, url_or_env

_lock = threading.Lock()
_waiting: dict[tuple[int, str, str | None], RewardGateway] = {}
_awaiting: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str | None], AsyncRewardGateway]] = (
    WeakKeyDictionary()
)


def shared_gateway(url: str | None = None, api_key: str | None = None) -> RewardGateway:
    """A forked process gets its own: two processes must not use one connection."""
    key = (os.getpid(), url_or_env(url), api_key_or_env(api_key))
    with _lock:
        if key not in _waiting:
            _waiting[key] = RewardGateway(key[1], key[2])
        return _waiting[key]


def shared_async_gateway(url: str | None = None, api_key: str | None = None) -> AsyncRewardGateway:
    """For the running event loop; goes with the loop."""
    key = (url_or_env(url), api_key_or_env(api_key))
    clients = _awaiting.setdefault(asyncio.get_running_loop(), {})
    if key not in clients:
        clients[key] = AsyncRewardGateway(*key)
    return clients[key]
