"""What the gateway tells of submitted rollouts: acceptances, finals and states."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .result import Failure, Result, Term

FINAL_STATES = ("scored", "invalid", "cancelled", "damaged")


@dataclass(frozen=True, slots=True)
class Credits:
    """What the gateway would accept now, of all runs together."""

    rollouts: int
    bytes: int
    questions: int | None = None
    """To judges, as the rollouts of each reward have asked on average. None: an older gateway does not say."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Credits":
        """Raises KeyError if the row is not the gateway's."""
        return cls(rollouts=row["rollouts"], bytes=row["bytes"], questions=row.get("questions"))


@dataclass(frozen=True, slots=True)
class Accepted:
    """A rollout that the gateway has on disk."""

    uid: str
    attempt: int
    """From 1. Other bytes under the same uid are a newer attempt."""
    state: str
    """`queued`, `running` or `waiting`; a final state if these bytes had their final before; `replaced` if they belong
    to an older attempt."""


@dataclass(frozen=True, slots=True)
class Final:
    """The one final of an attempt."""

    uid: str
    attempt: int
    state: str
    """`scored`, `invalid`, `cancelled` or `damaged`."""
    cursor: str
    """Reading after it gives the next final."""
    at: float
    """When it came, in seconds of Unix time."""
    result: Result
    """Without a reward unless the state is `scored`; its failure says why."""
    reward_name: str | None = None
    """Of the reward that scored it. None: the final was damaged on disk, or is of an older gateway."""
    reward_version: str | None = None
    """Of the reward's config. None: also if nothing was scored."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Final":
        """Raises KeyError if the row is not a final."""
        uid, state, result = row["uid"], row["state"], row["result"]
        reward = row.get("reward") or {}
        return cls(
            uid=uid,
            attempt=row["attempt"],
            state=state,
            cursor=row["cursor"],
            at=row["at"],
            result=_unread(uid) if result is None else Result.read(result),
            reward_name=reward.get("name"),
            reward_version=reward.get("version"),
        )


@dataclass(frozen=True, slots=True)
class Partial:
    """The early result of an attempt that asked for one: the terms of its rules, before its judges have answered. It
    has no reward. Train on finals."""

    uid: str
    attempt: int
    cursor: str
    """Reading after it gives what comes next."""
    at: float
    """When it came, in seconds of Unix time."""
    terms: Mapping[str, Term]
    """As in a result."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Partial":
        """Raises KeyError if the row is not an early result."""
        return cls(uid=row["uid"], attempt=row["attempt"], cursor=row["cursor"], at=row["at"], terms=row["terms"])


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run stands. A run begins with its first rollout; before that, everything is 0."""

    unfinished: int
    """Rollouts without a final."""
    oldest: float | None
    """When the oldest of them was accepted, in seconds of Unix time."""
    finals: int
    """How many finals the run has had."""
    cursor: str
    """That of the newest final."""
    bytes: int
    """On disk."""


def _unread(uid: str) -> Result:
    """The result of a final whose record was damaged on disk."""
    failure: Failure = {
        "kind": "cancelled",
        "retryable": True,
        "detail": "the final was damaged on the gateway's disk; submit the rollout with a higher attempt",
    }
    return Result(id=uid, reward=None, valid=False, failure=failure, substitute=None, terms={}, metrics={}, flags=())
