"""The result of one sample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from .errors import Unscorable


class _Failed(TypedDict):
    kind: str
    retryable: bool
    """True if a retry of the same sample may succeed."""
    detail: str


class Failure(_Failed, total=False):
    step: str
    attempts: Sequence[Mapping[str, Any]]


class Term(TypedDict):
    """The result of one step. `score` is None unless `status` is 'scored'."""

    status: str
    score: float | None
    weight: float
    contribution: float | None
    parts: Mapping[str, float]
    details: Mapping[str, Any]
    flags: Sequence[str]
    draws: int
    spread: float
    why: str | None
    failure: Failure | None


class StepReward(TypedDict):
    """The reward of a part of the rollout: the text of a turn, up to `end` characters."""

    turn: int
    end: int
    value: float


@dataclass(frozen=True, slots=True)
class Result:
    """`terms` and `metrics` have the same keys in every result of a reward."""

    id: str
    reward: float | None
    """None if the sample is not valid."""
    valid: bool
    failure: Failure | None
    substitute: float | None
    """The value of the rm-config's `on_invalid`, for trainers without an invalid state."""
    terms: Mapping[str, Term]
    metrics: Mapping[str, float | None]
    """None if the term or the sample failed; 0 if the term is off."""
    flags: Sequence[str]
    steps: Mapping[str, Sequence[StepReward]] = field(default_factory=dict)
    """Rewards of parts of the rollout, by term. Empty if there are none."""

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Result":
        """Raises KeyError if the row is not a result."""
        return cls(
            id=row["id"],
            reward=row["reward"],
            valid=row["valid"],
            failure=row["failure"],
            substitute=row["substitute"],
            terms=row["terms"],
            metrics=row["metrics"],
            flags=row["flags"],
            steps=row.get("steps", {}),
        )

    def score(self, name: str) -> float | None:
        """The score of a term ('quality'), of a part of it ('quality.depth') or of the whole ('reward'). None if the
        sample is invalid or the term has no score. Raises KeyError for an unknown name."""
        if name == "reward" and name not in self.terms:
            return self.reward
        term, _, part = name.partition(".") if name not in self.terms else (name, "", "")
        if term not in self.terms:
            raise KeyError(f"the reward has no term {term!r}; it has {', '.join(self.terms)}")
        if not self.valid:
            return None
        return self.terms[term]["parts"].get(part) if part else self.terms[term]["score"]


def reward_of(result: Result) -> float:
    """The reward. Raises Unscorable if there is none. For trainers that leave such samples out."""
    if result.reward is not None:
        return result.reward
    failure = result.failure
    kind, detail = (failure["kind"], failure["detail"]) if failure else ("", "")
    raise Unscorable(
        f"sample {result.id!r} has no reward: {kind}: {detail}",
        sample_id=result.id,
        kind=kind,
    )


def number_of(result: Result) -> float:
    """The reward, or the value of `on_invalid`. Raises Unscorable if there is neither. For trainers without an invalid
    state."""
    if result.reward is None and result.substitute is not None:
        return result.substitute
    return reward_of(result)


def floats_of(result: Result) -> dict[str, float]:
    """`metrics` for trainers that average numbers. A missing number is NaN, so that no mean counts it as 0."""
    return {name: math.nan if value is None else value for name, value in result.metrics.items()}
