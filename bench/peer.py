"""The peer of the rule benchmark: the same rule and the same answers on FastAPI and uvicorn, as a careful team would write it."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.responses import ORJSONResponse
from pydantic import BaseModel

STRICT = re.compile(r"#### (-?[0-9.,]+)")
FLEXIBLE = re.compile(r"-?[\d,]+\.?\d*")

app = FastAPI(default_response_class=ORJSONResponse)


class Sample(BaseModel):
    """One sample of a request."""

    id: str
    prompt: str
    response: str
    ground_truth: str
    data_source: str | None = None
    extra_info: dict[str, Any] = {}


class ScoreRequest(BaseModel):
    """The body of POST /score."""

    samples: list[Sample]


def extract_flexible(text: str) -> str | None:
    """The last usable number of a text."""
    for found in reversed(FLEXIBLE.findall(text)):
        number = found.replace(",", "").rstrip(".")
        if number in ("", ".", "-"):
            continue
        return number[:-2] if number.endswith(".0") else number
    return None


def score(response: str, truth: str) -> float:
    """The graded GSM8K rule: 1.0, 0.8, 0.1, 0.05 or 0."""
    strict = STRICT.search(response)
    if strict and strict.group(1).replace(",", "") == truth:
        return 1.0
    flexible = extract_flexible(response)
    if flexible is not None and flexible == truth:
        return 0.8
    if strict:
        return 0.1
    return 0.05 if flexible is not None else 0.0


@app.post("/score")
async def score_samples(request: ScoreRequest) -> ORJSONResponse:
    """Scores samples in order."""
    results = [{"id": s.id, "reward": score(s.response, s.ground_truth)} for s in request.samples]
    return ORJSONResponse({"results": results})
