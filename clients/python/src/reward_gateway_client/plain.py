"""Converts values of trainers to JSON, including numpy and torch arrays, images, dates and keys that are not text."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from .images import data_url, drawn, is_file, is_picture


def to_json(value: Any, pictures: dict[int, str] | None = None) -> bytes:
    """UTF-8 JSON. Writes NaN and infinity as Python does, which the gateway reads, and a lone surrogate as an escape. A
    value without a JSON form becomes its type's name. `pictures` keeps what was drawn, by the id of its image."""
    return json.dumps(plain(value, pictures), separators=(",", ":")).encode()


def plain(value: Any, pictures: dict[int, str] | None = None) -> Any:
    """Converts a value to dicts with text keys, lists, text, numbers, booleans and None. Images become data URLs: those
    of PIL, the bytes of one, and `{"bytes": ..., "path": ...}` of data sets. Models of pydantic and data classes become
    their fields."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if pictures is None:
        pictures = {}
    if isinstance(value, Mapping):
        if is_file(value):
            return plain(value["bytes"], pictures)
        return {key if isinstance(key, str) else str(plain(key)): plain(item, pictures) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, pictures) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (str, int, float)):
        # A subclass, such as numpy.float64 or numpy.str_, may have another text form.
        return next(base(value) for base in (str, int, float) if isinstance(value, base))
    if is_picture(value):
        return pictures.get(id(value)) or pictures.setdefault(id(value), drawn(value))
    if hasattr(value, "tolist"):
        return plain(value.tolist(), pictures)
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(), pictures)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), pictures) for field in fields(value)}
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, PurePath, UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return data_url(bytes(value)) or value.decode("utf-8", "replace")
    return f"<{type(value).__module__}.{type(value).__qualname__}>"
