"""What came back for one sample."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from .errors import Unscorable


class _Failed(TypedDict):
    kind: str
    retryable: bool
    """True where sending the same sample again may succeed."""
    detail: str


class Failure(_Failed, total=False):
    step: str
    attempts: Sequence[Mapping[str, Any]]


class Term(TypedDict):
    """One step's share. `score` is None unless `status` is 'scored'."""

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


@dataclass(frozen=True, slots=True)
class Result:
    """`terms` and `metrics` have the same keys in every result of a reward."""

    id: str
    reward: float | None
    """None whenever the sample is not valid."""
    valid: bool
    failure: Failure | None
    substitute: float | None
    """What the rm-config's `on_invalid` supplies, for trainers that know no 'invalid'."""
    terms: Mapping[str, Term]
    metrics: Mapping[str, float | None]
    """None where a term, or the sample, failed; 0 where a term is off."""
    flags: Sequence[str]

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Result":
        """Raises KeyError where the row is no result."""
        return cls(
            id=row["id"],
            reward=row["reward"],
            valid=row["valid"],
            failure=row["failure"],
            substitute=row["substitute"],
            terms=row["terms"],
            metrics=row["metrics"],
            flags=row["flags"],
        )

    def score(self, name: str) -> float | None:
        """The number of a term ('quality'), of a part of it ('quality.depth') or of the whole ('reward'); None where
        the sample is invalid or the term has none. Raises KeyError for a name that the reward does not have."""
        if name == "reward" and name not in self.terms:
            return self.reward
        term, _, part = name.partition(".") if name not in self.terms else (name, "", "")
        if term not in self.terms:
            raise KeyError(f"the reward has no term {term!r}; it has {', '.join(self.terms)}")
        if not self.valid:
            return None
        return self.terms[term]["parts"].get(part) if part else self.terms[term]["score"]


def reward_of(result: Result) -> float:
    """The reward; raises Unscorable where there is none. For trainers that leave such a sample out."""
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
    """The reward, else what `on_invalid` supplies; raises Unscorable where it supplies nothing. For trainers that know
    no 'invalid'."""
    if result.reward is None and result.substitute is not None:
        return result.substitute
    return reward_of(result)


def floats_of(result: Result) -> dict[str, float]:
    """`metrics` for trainers that average numbers: NaN where there is none, so that no mean counts it as 0."""
    return {name: math.nan if value is None else value for name, value in result.metrics.items()}
