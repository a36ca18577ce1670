"""A sample of /v1/score, and its construction from trainers' rows."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class Message(TypedDict):
    role: str
    content: Any
    """Text, a list of `{"type": "text", "text": ...}` parts, or None."""


class Sample(TypedDict, total=False):
    id: str | int
    """Returned in the result; the sample's index by default."""
    prompt: str | Sequence[Message]
    response: str | Sequence[Message]
    ground_truth: Any
    data_source: str | None
    group_id: str | int | None
    group_index: int | None
    group_size: int | None
    rm_prompt: str | None
    rm_prompts: Mapping[str, str] | None
    extra_info: Mapping[str, Any] | None


SampleLike = Mapping[str, object]
"""A Sample, or a dict with its keys and another type."""

TRUTH_COLUMNS = ("ground_truth", "solution", "answer", "label", "labels", "target")
"""Names of the ground truth column, in search order."""

_FIELDS = ("data_source", "group_id", "group_index", "group_size", "rm_prompt", "rm_prompts")


def text_or_messages(value: Any) -> str | list[Message]:
    """Text unchanged, or messages with only role and content; a missing content is None."""
    if isinstance(value, str):
        return value
    return [{"role": str(m.get("role", "")), "content": m.get("content")} for m in value]


def sample_of(prompt: Any, response: Any, row: Mapping[str, Any], truth: str | None = None) -> Sample:
    """Makes a sample from a row of a data set. `truth` names the column of the ground truth; the default is the first
    of TRUTH_COLUMNS that the row has. Columns named like a sample's fields fill them; all others go to extra_info."""
    sample: Sample = {"prompt": text_or_messages(prompt), "response": text_or_messages(response)}
    rest = dict(row)
    column = truth or next((name for name in TRUTH_COLUMNS if name in rest), None)
    if column is not None:
        sample["ground_truth"] = rest.pop(column)
    for name in _FIELDS:
        if name in rest:
            sample[name] = rest.pop(name)  # type: ignore[literal-required]
    extra = rest.pop("extra_info", None)
    sample["extra_info"] = {**rest, **extra} if isinstance(extra, Mapping) else rest
    return sample
