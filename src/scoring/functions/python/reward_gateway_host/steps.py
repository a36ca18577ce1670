"""Coroutines that tell where they are, so that one which blocks the event loop can be named."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any

from .progress import Progress


@types.coroutine
def _stepped(
    coroutine: Coroutine[Any, Any, Any], index: int, progress: Progress
) -> Generator[Any, Any, Any]:
    error: BaseException | None = None
    sent: Any = None
    while True:
        progress.running(index)
        try:
            waited = coroutine.send(sent) if error is None else coroutine.throw(error)
        except StopIteration as end:
            return end.value
        error, sent = None, None
        try:
            sent = yield waited
        except BaseException as thrown:
            error = thrown


async def run_stepped(coroutine: Coroutine[Any, Any, Any], index: int, progress: Progress) -> Any:
    """Runs the coroutine, marking each of its steps as the job `index`."""
    return await _stepped(coroutine, index, progress)


async def beating(progress: Progress) -> None:
    """Shows that the event loop is alive while functions wait for others."""
    while True:
        progress.beat()
        await asyncio.sleep(0.05)
