"""Converts values of trainers to JSON, including numpy and torch arrays, dates and keys that are not text."""

import json
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID


def to_json(value: Any) -> bytes:
    """UTF-8 JSON. Writes NaN and infinity as Python does, which the gateway reads, and a lone surrogate as an escape. A
    value without a JSON form becomes its type's name."""
    return json.dumps(plain(value), separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """Converts a value to dicts with text keys, lists, text, numbers, booleans and None."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (str, int, float)):
        # A subclass, such as numpy.float64 or numpy.str_, may have another text form.
        return next(base(value) for base in (str, int, float) if isinstance(value, base))
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, PurePath, UUID)):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"<{type(value).__module__}.{type(value).__qualname__}>"
