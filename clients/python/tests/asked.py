"""A prompt and an image that tests of adapters send, and the type of the fixture that runs an event loop."""

from collections.abc import Callable
from typing import Any

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "ask"}]
PNG = b"\x89PNG\r\n\x1a\n..."
PNG_URL = "data:image/png;base64,iVBORw0KGgouLi4="

Run = Callable[[Callable[[], Any]], Any]
"""Runs in a new event loop and closes its clients."""
