"""Writes rollouts as lines of `POST /v1/runs/{run}/rollouts`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from .exchange import fields_of, row_of
from .plain import to_json
from .sample import SampleLike

_UID = re.compile(r"[!-~]{1,200}")
_RUN = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


@dataclass(frozen=True, slots=True)
class Line:
    """A rollout as it is sent, each time with the same bytes."""

    uid: str
    text: bytes


def run_name(run: str) -> str:
    """Raises ValueError if no run may have this name."""
    if not _RUN.fullmatch(run):
        raise ValueError(f"a run's name has up to 128 letters, digits, dots, colons, - and _, not {run!r}")
    return run


def line_of(
    sample: SampleLike,
    uid: str | None,
    *,
    reward: str,
    training_step: int | None = None,
    deadline_s: float | None = None,
    priority: int = 0,
    attempt: int | None = None,
    partial: bool = False,
    pictures: dict[int, str] | None = None,
) -> Line:
    """Without a uid, the rollout gets a new one. Raises ValueError for a uid that the gateway would refuse."""
    name = uuid4().hex if uid is None else uid
    if not _UID.fullmatch(name):
        raise ValueError(f"a uid has up to 200 visible ASCII characters and no blank, not {name!r}")
    body: dict[str, Any] = {"uid": name, "reward": reward}
    if training_step is not None:
        body["training_step"] = training_step
    if deadline_s is not None:
        body["deadline_s"] = deadline_s
    if priority != 0:
        body["priority"] = priority
    if attempt is not None:
        body["attempt"] = attempt
    if partial:
        body["partial"] = True
    text = to_json(body)[:-1] + b',"sample":' + to_json(fields_of(sample, {} if pictures is None else pictures)) + b"}"
    return Line(name, text)


def grouped(samples: Sequence[SampleLike]) -> Sequence[SampleLike]:
    """The samples of one call, each with the name and the size of its group, so that the gateway compares them as it
    does those of one request. Answers belong together if they name one group, or have the same prompt and truth."""
    if len(samples) < 2:
        return samples
    call = uuid4().hex[:12]
    groups = [_group_of(sample, at, call) for at, sample in enumerate(samples)]
    sizes = Counter(groups)
    seen: Counter[str] = Counter()
    found: list[SampleLike] = []
    for sample, group in zip(samples, groups, strict=True):
        told: Mapping[str, object] = {"group_id": group, "group_index": seen[group], "group_size": sizes[group]}
        seen[group] += 1
        found.append({**told, **{name: value for name, value in sample.items() if value is not None}})
    return found


def _group_of(sample: SampleLike, at: int, call: str) -> str:
    if sample.get("group_id") is not None:
        return str(sample["group_id"])
    asked = {name: sample[name] for name in ("prompt", "ground_truth") if name in sample}
    group = row_of(fields_of(asked, {}), at, {}).group
    return f"{call}-{group.hex() if isinstance(group, bytes) else at}"[:64]
