"""The clients under failures of the network or the gateway."""

import asyncio
import pickle
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import reward_gateway_client.retry as retry
from reward_gateway_client import (
    AsyncRewardGateway,
    GatewayRefused,
    GatewayUnreachable,
    Result,
    RewardGateway,
    Sample,
    Unscorable,
)
from scripted import ScriptedServer, half, lines, reset, result, results, silent, status

SAMPLES: list[Sample] = [{"response": "0.5"}, {"response": "1"}]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.001)


def waiting(url: str, **options: Any) -> list[Result]:
    with RewardGateway(url, "key", reward="r", run="one", **options) as gateway:
        return gateway.score(SAMPLES, training_step=3)


def awaiting(url: str, **options: Any) -> list[Result]:
    async def run() -> list[Result]:
        async with AsyncRewardGateway(url, "key", reward="r", run="one", **options) as gateway:
            return await gateway.score(SAMPLES, training_step=3)

    return asyncio.run(run())


both = pytest.mark.parametrize("score", [waiting, awaiting])
Score = Callable[..., list[Result]]


@both
def test_a_call_is_tried_again_as_the_same_bytes(scripted: ScriptedServer, score: Score) -> None:
    scripted.answers = [
        status(503, "RG_CLOSING"),
        reset,
        half,
        status(429),
        status(500, "RG_INTERNAL"),
        results,
    ]
    assert [r.reward for r in score(scripted.url)] == [0.5, 1]
    assert len(scripted.requests) == 6
    assert len({request["raw"] for request in scripted.requests}) == 1
    assert scripted.requests[0]["body"] == {
        "reward": "r",
        "samples": [{"response": "0.5"}, {"response": "1"}],
        "training_step": 3,
        "run": "one",
    }
    assert scripted.requests[0]["headers"]["authorization"] == "Bearer key"


@both
def test_the_gateways_word_to_wait_is_kept(scripted: ScriptedServer, score: Score) -> None:
    scripted.answers = [status(429, retry_after="0.2"), results]
    started = time.monotonic()
    score(scripted.url)
    assert time.monotonic() - started >= 0.2
    scripted.answers = [status(429, retry_after="60")]
    with pytest.raises(GatewayUnreachable, match="1 failed try within 5 s"):
        score(scripted.url, timeout_s=5)


@both
def test_what_does_not_pass_is_not_tried_again(scripted: ScriptedServer, score: Score) -> None:
    for code, error in ((400, "RG_REQUEST_INVALID"), (401, "RG_UNAUTHORIZED"), (502, "RG_SAMPLES_FAILED")):
        scripted.answers = [status(code, error)]
        scripted.requests.clear()
        with pytest.raises(GatewayRefused, match=r"samples\[0\]: what to do"):
            score(scripted.url)
        assert len(scripted.requests) == 1
    scripted.answers = [lambda handler, _: handler.send(200, ["a page"])]
    with pytest.raises(GatewayRefused, match="not from a reward gateway"):
        score(scripted.url)
    scripted.answers = [lambda handler, _: handler.send(200, {"results": []})]
    with pytest.raises(GatewayRefused, match="0 results for 2 samples"):
        score(scripted.url)


@both
def test_a_gateway_that_stays_away_ends_the_call(scripted: ScriptedServer, score: Score) -> None:
    scripted.answers = [reset] * 9
    with pytest.raises(GatewayUnreachable, match="3 failed tries") as unreachable:
        score(scripted.url, retries=2)
    assert len(scripted.requests) == 3
    assert unreachable.value.__cause__ is not None


@both
def test_no_call_is_longer_than_its_time_limit(scripted: ScriptedServer, score: Score) -> None:
    scripted.answers = [silent]
    started = time.monotonic()
    with pytest.raises(GatewayUnreachable, match=r"within 0\.3 s"):
        score(scripted.url, timeout_s=0.3)
    assert time.monotonic() - started < 1


def streamed(url: str) -> dict[int, Result]:
    with RewardGateway(url, reward="r") as gateway:
        return dict(gateway.stream(SAMPLES))


def streamed_async(url: str) -> dict[int, Result]:
    async def run() -> dict[int, Result]:
        async with AsyncRewardGateway(url, reward="r") as gateway:
            return {index: found async for index, found in gateway.stream(SAMPLES)}

    return asyncio.run(run())


@pytest.mark.parametrize("stream", [streamed, streamed_async])
def test_a_broken_stream_goes_on_where_it_broke(
    scripted: ScriptedServer, stream: Callable[[str], dict[int, Result]]
) -> None:
    first, second = {"index": 0, **result(0, 0.5)}, {"index": 1, **result(1, 1)}
    scripted.answers = [status(503), lines(second, whole=False), lines(second), lines(second, first)]
    assert list(stream(scripted.url)) == [1, 0]
    assert len(scripted.requests) == 4
    failed = {"error": {"code": "RG_SAMPLES_FAILED", "message": "one failed"}}
    scripted.answers = [lines(first, failed)]
    with pytest.raises(GatewayRefused, match="RG_SAMPLES_FAILED"):
        stream(scripted.url)


def test_a_stream_gives_each_result_before_the_last_is_there(scripted: ScriptedServer) -> None:
    def one_then_nothing(handler: Any, body: Any) -> None:
        lines({"index": 1, **result(1, 1)})(handler, body)
        silent(handler, body)

    scripted.answers = [one_then_nothing]
    with RewardGateway(scripted.url, reward="r") as gateway:
        index, found = next(iter(gateway.stream(SAMPLES)))
    assert (index, found.reward) == (1, 1)


def test_connections_are_used_again_by_calls_and_threads(scripted: ScriptedServer) -> None:
    with RewardGateway(scripted.url, reward="r") as gateway:
        for _ in range(5):
            gateway.score(SAMPLES)
        assert scripted.connections == 1
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: gateway.score(SAMPLES), range(40)))
        assert scripted.connections <= 8


def test_a_request_of_one_group_names_it_for_load_balancers(scripted: ScriptedServer) -> None:
    groups: list[list[Any]] = [["grüppe 1", "grüppe 1"], ["a", "b"], ["a", None], [None, None], [7]]
    with RewardGateway(scripted.url, reward="r") as gateway:
        for ids in groups:
            gateway.score([{"response": "1", "group_id": group} for group in ids])
        gateway.post("/wire/nemo-gym/r/verify?group_size=8", {"reward": "r", "samples": []}, group="a/b")
        gateway.post("/wire/nemo-gym/r/verify", {"reward": "r", "samples": []})
    sent = [request["headers"]["x-reward-gateway-group"] for request in scripted.requests]
    assert sent == ["gr%C3%BCppe%201", None, None, None, "7", "a%2Fb", None]


def test_the_environment_says_where_the_gateway_is(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="REWARD_GATEWAY_URL"):
        RewardGateway()
    monkeypatch.setenv("REWARD_GATEWAY_URL", f"{scripted.url}/")
    with RewardGateway() as gateway:
        with pytest.raises(ValueError, match="REWARD_GATEWAY_REWARD"):
            gateway.score(SAMPLES)
        monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
        assert len(gateway.score(SAMPLES)) == 2


def test_errors_survive_the_way_between_processes() -> None:
    for error in (
        GatewayRefused("no", status=404, code="RG_REWARD_UNKNOWN", problems=[{"path": "reward"}]),
        Unscorable("none", sample_id="1", kind="rule_error"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), vars(copy)) == (str(error), vars(error))
