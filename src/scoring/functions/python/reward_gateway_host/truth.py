"""A ground truth that came as JSON text, for functions whose options say `truth: json`."""

from __future__ import annotations

import json
from typing import Any


class BadTruth(Exception):
    """The row's ground truth cannot be read; the message never quotes it."""


def read_truth(truth: Any) -> Any:
    """What a text says as JSON; anything else as it is. Integers are exact, as Python's are."""
    if not isinstance(truth, str):
        return truth
    try:
        return json.loads(truth, object_pairs_hook=_object, parse_constant=_constant)
    except BadTruth:
        raise
    except (ValueError, RecursionError):
        raise BadTruth("ground_truth: the text is no JSON, or nests too deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        raise BadTruth("ground_truth: its JSON names a key twice")
    return read


def _constant(name: str) -> Any:
    raise BadTruth(f"ground_truth: its JSON holds {name}")
