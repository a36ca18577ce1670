"""An event loop in a thread of its own, for code that waits."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Starts with the first work. Any thread may hand it work; a forked process may not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result. What interrupts the wait, such as Ctrl-C, ends the work as well."""
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def usable(self) -> bool:
        """False where waiting would never end: in a forked process, and in the loop's own thread."""
        return self._pid == os.getpid() and threading.current_thread() is not self._thread

    def close(self) -> None:
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        if not self.usable():
            raise RuntimeError("a client does not work in a forked process: make one there")
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="reward-gateway", daemon=True)
                self._thread.start()
            return self._loop
