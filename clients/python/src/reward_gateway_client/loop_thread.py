"""An event loop in its own thread, for synchronous code."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

from .errors import ClientUnusable

T = TypeVar("T")


class LoopThread:
    """Starts with the first call. Any thread may use it, but not a forked process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and returns its result. An interrupt of the wait, such as Ctrl-C, cancels the coroutine.
        Raises ClientUnusable if the client is closed, also during the call."""
        try:
            if not self.usable():
                raise ClientUnusable("a client does not work in a forked process: create one there")
            # `close` cancels everything that started before it.
            with self._lock:
                future = asyncio.run_coroutine_threadsafe(work, self._started())
        except BaseException:
            work.close()
            raise
        try:
            return future.result()
        except CancelledError:
            if not self._is_closed:
                raise
            raise ClientUnusable("this client was closed during a call") from None
        except BaseException:
            future.cancel()
            raise

    def each(self, results: AsyncGenerator[T, None]) -> Iterator[T]:
        """What an asynchronous generator yields."""

        async def following() -> tuple[T] | None:
            async for one in results:
                return (one,)
            return None

        async def ended() -> None:
            await results.aclose()

        try:
            while (found := self.run(following())) is not None:
                yield found[0]
        finally:
            # A closed client has already ended its generators.
            with suppress(ClientUnusable):
                self.run(ended())

    def usable(self) -> bool:
        """False if a wait would never end: in a forked process and in the loop's own thread."""
        return self._pid == os.getpid() and threading.current_thread() is not self._thread

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs `last` if the loop was started, and cancels pending work."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
            self._is_closed = True
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_ended(last), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._is_closed:
            raise ClientUnusable("this client is closed: create a new one")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="reward-gateway", daemon=True)
            self._thread.start()
        return self._loop


async def _ended(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await last()
