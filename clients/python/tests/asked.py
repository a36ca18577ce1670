"""A prompt and an image that tests of adapters send, stand-ins for trainers, and the type of the fixture that runs an
event loop."""

import asyncio
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from reward_gateway_client import shared

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "ask"}]
PNG = b"\x89PNG\r\n\x1a\n..."
PNG_URL = "data:image/png;base64,iVBORw0KGgouLi4="

Run = Callable[[Callable[[], Any]], Any]
"""Runs in a new event loop and closes its clients."""


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, **names: Any) -> None:
    parent, _, last = module.rpartition(".")
    if parent:
        stand_in(monkeypatch, parent)
    if module not in sys.modules:
        monkeypatch.setitem(sys.modules, module, ModuleType(last))
    for name, value in names.items():
        monkeypatch.setattr(sys.modules[module], name, value, raising=False)


def awaited(work: Callable[[], Any]) -> Any:
    """Runs in a new event loop and closes its clients."""

    async def whole() -> Any:
        try:
            return await work()
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())
