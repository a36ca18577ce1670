"""Writes the bytes of a /v1/score call and reads its response. The clients only transfer them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from .errors import GatewayRefused
from .plain import to_json
from .result import Result
from .sample import SampleLike

GROUP_HEADER = "x-reward-gateway-group"
"""Sent if all samples of a request belong to one group, so that a load balancer can keep the group on one replica."""

PATH = "/v1/score"


@dataclass(frozen=True, slots=True)
class Exchange:
    headers: Mapping[str, str]
    body: bytes
    count: int


def exchange_of(
    samples: Iterable[SampleLike], reward: str, training_step: int | None, run: str | None, *, stream: bool
) -> Exchange:
    """Builds one request for the samples. Raises ValueError if there are none."""
    rows = list(samples)
    if not rows:
        raise ValueError("no samples")
    body: dict[str, Any] = {"reward": reward, "samples": rows}
    if training_step is not None:
        body["training_step"] = training_step
    if run is not None:
        body["run"] = run
    headers = {"content-type": "application/json", **group_header(rows)}
    if stream:
        headers["accept"] = "application/x-ndjson"
    return Exchange(headers, to_json(body), len(rows))


def group_header(samples: Sequence[SampleLike]) -> dict[str, str]:
    groups = {sample.get("group_id") for sample in samples}
    return header_of_group(groups.pop() if len(groups) == 1 else None)


def header_of_group(group: object) -> dict[str, str]:
    """None: any replica may answer the request."""
    return {} if group is None else {GROUP_HEADER: quote(str(group), safe="")[:256]}


def read_results(content: bytes, count: int) -> list[Result]:
    """Raises GatewayRefused unless the response has one result per sample."""
    try:
        results = [Result.read(row) for row in json.loads(content)["results"]]
    except (KeyError, TypeError, ValueError) as error:
        raise not_a_gateway(content) from error
    if len(results) != count:
        raise GatewayRefused(f"{len(results)} results for {count} samples", status=200)
    return results


def read_line(line: bytes) -> tuple[int, Result]:
    """Reads a line of a stream: index and result. Raises GatewayRefused for a line with an error, ValueError for an
    incomplete one."""
    row = json.loads(line)
    if "error" in row:
        raise refusal(200, line)
    try:
        return row["index"], Result.read(row)
    except (KeyError, TypeError) as error:
        raise not_a_gateway(line) from error


def refusal(status: int, content: bytes) -> GatewayRefused:
    """Turns an error response, of the gateway or another server, into an exception."""
    try:
        error = json.loads(content)["error"]
        problems = error.get("problems", [])
        places = "".join(f"\n  {problem['path']}: {problem['message']}" for problem in problems)
        return GatewayRefused(
            f"{error['code']}: {error['message']}{places}",
            status=status,
            code=error["code"],
            problems=problems,
            request_id=error.get("request_id"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return not_a_gateway(content, status)


def not_a_gateway(content: bytes, status: int = 200) -> GatewayRefused:
    shown = content[:200].decode("utf-8", "replace")
    return GatewayRefused(f"HTTP {status}, and the response is not from a reward gateway: {shown!r}", status=status)
