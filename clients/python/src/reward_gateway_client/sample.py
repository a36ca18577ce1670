"""A sample of /v1/score, and its construction from trainers' rows."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from .images import columns_of, with_media


class Message(TypedDict, total=False):
    """A chat message, or an item of the Responses API. The gateway keeps every field."""

    role: str
    content: Any
    """Text, a list of parts such as `{"type": "text", "text": ...}`, or None."""
    tool_calls: Any
    tool_call_id: str
    name: str
    reasoning_content: str


class Sample(TypedDict, total=False):
    id: str | int
    """Returned in the result; the sample's index by default."""
    prompt: str | Sequence[Message]
    images: Sequence[Any]
    """Images of the prompt: of PIL, bytes, paths, URLs. The client puts them into the places that the prompt has for
    them, `{"type": "image"}` or `<image>`, or before its last turn of the user."""
    response: str | Sequence[Message]
    """Text, or all messages that the rollout added."""
    status: str | None
    """`completed`, `truncated`, `aborted`, `tool_limit` or `env_error`."""
    tokens: Mapping[str, int] | None
    policy_version: str | int | Mapping[str, str | int] | None
    environment: Mapping[str, float] | None
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

STATUS_OF_STOP = {"length": "truncated", "abort": "aborted"}
"""The status of a rollout by why its engine stopped. Others are complete."""

_FIELDS = ("data_source", "group_id", "group_index", "group_size", "rm_prompt", "rm_prompts")


def text_or_messages(value: Any) -> str | list[Message]:
    """Text unchanged, or messages with every field that has a value."""
    if isinstance(value, str):
        return value
    return [message_of(message) for message in value]


def message_of(sent: Any) -> Message:
    """A message without empty fields, which data sets add to every row. Items of the Responses API have no role."""
    fields = sent.model_dump(mode="json") if hasattr(sent, "model_dump") else sent
    message: dict[str, Any] = {name: item for name, item in fields.items() if item is not None}
    if "type" not in message:
        message.setdefault("role", "")
    if "role" in message:
        message["role"] = str(message["role"])
        message.setdefault("content", None)
    return cast(Message, message)


def sample_of(prompt: Any, response: Any, row: Mapping[str, Any], truth: str | None = None) -> Sample:
    """Makes a sample from a row of a data set. `truth` names the column of the ground truth; the default is the first
    of TRUTH_COLUMNS that the row has. Columns named like a sample's fields fill them, columns of images go into the
    prompt, and all others into extra_info."""
    media, rest = columns_of(row)
    asked = with_media("" if prompt is None else prompt, media)
    sample: Sample = {"prompt": text_or_messages(asked), "response": text_or_messages(response)}
    column = truth or next((name for name in TRUTH_COLUMNS if name in rest), None)
    if column is not None:
        sample["ground_truth"] = rest.pop(column)
    for name in _FIELDS:
        if name in rest:
            sample[name] = rest.pop(name)  # type: ignore[literal-required]
    extra = rest.pop("extra_info", None)
    sample["extra_info"] = {**rest, **extra} if isinstance(extra, Mapping) else rest
    return sample
