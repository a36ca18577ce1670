"""The peer of the rule benchmark: the gateway's rule and results on FastAPI and uvicorn, as a careful team would write it.

Requests are validated and results are written by pydantic, on the path that FastAPI makes for a declared return type: from
models to bytes inside pydantic-core. uvicorn runs with uvloop and httptools, which `uvicorn[standard]` brings, without an
access log. The rule computes no more than it needs: the second regular expression runs only where the first did not decide.
As a program it reads samples (a JSON list) from standard input and prints what the bare function costs in process: processor
milliseconds a sample.
"""

import json
import re
import sys
import time
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel

STRICT = re.compile(r"#### (-?[0-9.,]+)")
FLEXIBLE = re.compile(r"-?[\d,]+\.?\d*")

app = FastAPI()


class Message(BaseModel):
    """One turn of a conversation."""

    role: str
    content: str


class Sample(BaseModel):
    """One sample of a request."""

    id: str
    prompt: str | list[Message]
    response: str
    ground_truth: str
    data_source: str | None = None
    extra_info: dict[str, Any] = {}


class ScoreRequest(BaseModel):
    """The body of POST /v1/score."""

    reward: str
    samples: list[Sample]


class Failure(BaseModel):
    """Why there is no number."""

    kind: str
    retryable: bool
    detail: str


class Term(BaseModel):
    """A step's share in a sample's reward."""

    status: Literal["scored", "text", "off", "failed"]
    score: float | None
    weight: float
    contribution: float | None
    parts: dict[str, float] = {}
    details: dict[str, str] = {}
    flags: list[str] = []
    draws: int = 1
    spread: float = 0
    why: str | None = None
    failure: Failure | None = None


class Result(BaseModel):
    """The answer for one sample."""

    id: str
    reward: float | None
    valid: bool
    failure: Failure | None = None
    substitute: float | None = None
    terms: dict[str, Term]
    metrics: dict[str, float]
    flags: list[str] = []


class Reward(BaseModel):
    """Which reward answered."""

    name: str
    version: str


class ScoreResponse(BaseModel):
    """The answer of POST /v1/score."""

    results: list[Result]
    reward: Reward


def extract_flexible(text: str) -> str | None:
    """The last usable number of a text."""
    for found in reversed(FLEXIBLE.findall(text)):
        number = found.replace(",", "").rstrip(".")
        if number in ("", ".", "-"):
            continue
        return number[:-2] if number.endswith(".0") else number
    return None


def score(response: str, truth: str) -> tuple[float, dict[str, str]]:
    """The graded GSM8K rule: 1.0, 0.8, 0.1, 0.05 or 0, with the number that counts and why it earns less."""
    strict = STRICT.search(response)
    marked = strict.group(1).replace(",", "") if strict else None
    if marked is not None and marked == truth:
        return 1.0, {"extracted": marked}
    loose = extract_flexible(response)
    if loose is not None and loose == truth:
        return 0.8, {"extracted": loose}
    extracted = marked if marked is not None else loose
    if extracted is None:
        return 0.0, {"reason": "no_number"}
    return 0.1 if marked is not None else 0.05, {"extracted": extracted, "reason": "unequal"}


def result_of(sample: Sample) -> Result:
    """A sample's result."""
    value, details = score(sample.response, sample.ground_truth)
    term = Term(status="scored", score=value, weight=1, contribution=value, details=details)
    return Result(
        id=sample.id,
        reward=value,
        valid=True,
        terms={"rule": term},
        metrics={"rule": value, "rule_scored": 1},
    )


@app.post("/v1/score")
async def score_samples(request: ScoreRequest) -> ScoreResponse:
    """Scores samples in order."""
    results = [result_of(sample) for sample in request.samples]
    return ScoreResponse(results=results, reward=Reward(name=request.reward, version="1"))


def main() -> None:
    """Scores the samples again and again in this process."""
    samples = json.load(sys.stdin)
    rounds = 20
    began = time.process_time()
    for _ in range(rounds):
        for sample in samples:
            score(sample["response"], sample["ground_truth"])
    sys.stdout.write(str((time.process_time() - began) * 1000 / rounds / len(samples)))


if __name__ == "__main__":
    main()
