"""An event loop in a thread of its own, for code that waits."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from .errors import ClientUnusable

T = TypeVar("T")


class LoopThread:
    """Starts with the first work. Any thread may hand it work; a forked process may not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result. What interrupts the wait, such as Ctrl-C, ends the work as well. Raises ClientUnusable
        where this is closed, also while the work is under way."""
        try:
            if not self.usable():
                raise ClientUnusable("a client does not work in a forked process: make one there")
            # What is begun before `close` is ended by it.
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
            raise ClientUnusable("this client was closed while a call waited") from None
        except BaseException:
            future.cancel()
            raise

    def usable(self) -> bool:
        """False where waiting would never end: in a forked process, and in the loop's own thread."""
        return self._pid == os.getpid() and threading.current_thread() is not self._thread

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does the `last` work, if there was any other, and ends what still waits."""
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
            raise ClientUnusable("this client is closed: make a new one")
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
