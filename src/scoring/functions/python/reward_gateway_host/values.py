"""What Python code returns, as plain JSON values."""

from __future__ import annotations

import itertools
import math
from typing import Any

TEXT_LENGTH = 4096
ITEMS = 256
DEPTH = 8
# Values and characters of all details of one verdict.
SIZE = 65_536
STEPS = 10_000


class NoVerdict(Exception):
    """The function returned something that is no score; the message never quotes it."""


def plain(value: Any) -> Any:
    """Unwraps numpy and torch: one element becomes its number, more become a list."""
    if value is None or isinstance(value, (bool, int, float, str, dict, list, tuple)):
        return value
    for method in ("item", "tolist"):
        try:
            return getattr(value, method)()
        except (AttributeError, ValueError, RuntimeError, TypeError):
            continue
    return value


def number(value: Any) -> float | int | str:
    """A number; one that JSON cannot hold is spelled, for the gateway to refuse."""
    value = plain(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        try:
            wide = float(value)
        except OverflowError:
            return "Infinity"
        return value if math.isfinite(wide) else ("NaN" if math.isnan(wide) else "Infinity")
    raise NoVerdict(f"returned {type(value).__name__}, not a number")


def only(values: Any) -> Any:
    """The entry of a list with one entry: functions of batches are called with one row."""
    values = values if isinstance(values, (list, tuple)) else plain(values)
    if not isinstance(values, (list, tuple)):
        return values
    if len(values) != 1:
        raise NoVerdict(f"returned {len(values)} values for 1 row")
    return values[0]


def bounded(value: Any) -> Any:
    """JSON for people: long, many and deep things are cut, odd objects become their type's name."""
    return _Bounded().copy(value, 0)


class _Bounded:
    def __init__(self) -> None:
        self._left = SIZE

    def copy(self, value: Any, depth: int) -> Any:
        value = plain(value)
        self._left -= 1
        if value is None or isinstance(value, (bool, int)):
            return self._short(value) if isinstance(value, int) and abs(value) >> 64 else value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, str):
            return self._short(value)
        if depth < DEPTH and isinstance(value, dict):
            copied = {}
            for key in itertools.islice(value, ITEMS):
                if self._left <= 0:
                    break
                copied[self._short(str(key)[:200])] = self.copy(value[key], depth + 1)
            return copied
        if depth < DEPTH and isinstance(value, (list, tuple)):
            items = []
            for item in value[:ITEMS]:
                if self._left <= 0:
                    break
                items.append(self.copy(item, depth + 1))
            return items
        return f"<{type(value).__name__}>"

    def _short(self, value: Any) -> str:
        text = str(value) if isinstance(value, str) else f"<{type(value).__name__}>"
        text = text[: max(0, min(TEXT_LENGTH, self._left))]
        self._left -= len(text)
        return text


def verdict(result: Any, parts: list[str], value_key: str = "score") -> dict[str, Any]:
    """A number, a dict with the score under `value_key`, or a tuple that begins with it."""
    if isinstance(result, (list, tuple)):
        if not result:
            raise NoVerdict("returned an empty list")
        return {"value": number(result[0])}
    if not isinstance(result, dict):
        return {"value": number(result)}
    rest = {key: item for key, item in result.items() if key != value_key}
    steps = rest.pop("steps") if are_steps(rest.get("steps")) else None
    if value_key not in result and steps is None:
        raise NoVerdict(f"returned a dict without '{value_key}'")
    score: dict[str, Any] = {}
    if value_key in result:  # without it, the option `aggregate` makes the score of the steps
        score["value"] = number(only(result[value_key]))
    if steps is not None:
        if len(steps) > STEPS:
            raise NoVerdict(f"returned {len(steps)} steps, more than {STEPS}")
        score["steps"] = [step_of(step) for step in steps]
    named = {key: number(only(rest.pop(key))) for key in parts if key in rest}
    if named:
        score["parts"] = named
    if rest:
        score["details"] = bounded(rest)
    return score


def are_steps(value: Any) -> bool:
    """Whether an entry `steps` holds rewards of steps; a count or a list of texts is a detail."""
    return isinstance(value, (list, tuple)) and any(isinstance(step, dict) for step in value)


def step_of(step: Any) -> dict[str, Any]:
    """The numbers of a step; the gateway checks what they say."""
    if not isinstance(step, dict):
        raise NoVerdict(f"returned a step that is {type(step).__name__}, not a dict")
    keys = ("turn", "end", "value")
    return {key: number(step[key]) for key in keys if step.get(key) is not None}
