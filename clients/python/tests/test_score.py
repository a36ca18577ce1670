"""Results of a real gateway through both clients."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reward_gateway_client import (
    AsyncRewardGateway,
    GatewayRefused,
    Result,
    RewardGateway,
    Sample,
    Unscorable,
    number_of,
    reward_of,
)

Score = Callable[..., list[Result]]


def waiting_with_a_bar(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    return waiting(url, samples, progress=True, **options)


def awaiting_with_a_bar(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    return awaiting(url, samples, progress=True, **options)


def waiting(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    with RewardGateway(url) as gateway:
        return gateway.score(samples, **options)


def awaiting(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    async def run() -> list[Result]:
        async with AsyncRewardGateway(url) as gateway:
            return await gateway.score(samples, **options)

    return asyncio.run(run())


def streamed(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    with RewardGateway(url) as gateway:
        found = dict(gateway.stream(samples, **options))
    return [found[index] for index in range(len(samples))]


def streamed_async(url: str, samples: list[Sample], **options: Any) -> list[Result]:
    async def run() -> list[Result]:
        async with AsyncRewardGateway(url) as gateway:
            found = {index: result async for index, result in gateway.stream(samples, **options)}
        return [found[index] for index in range(len(samples))]

    return asyncio.run(run())


ALL = [waiting, awaiting, streamed, streamed_async, waiting_with_a_bar, awaiting_with_a_bar]


def test_a_bar_shows_how_many_are_scored_and_how(gateway_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    samples: list[Sample] = [{"response": text} for text in ("1", "0", "throw", "1")]
    waiting_with_a_bar(gateway_url, samples, reward="stated")
    shown = capsys.readouterr().err.rpartition("\r")[2]
    assert "4/4" in shown
    assert "mean 0.667, 1 invalid" in shown


def test_a_bar_without_tqdm_says_what_to_install(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"pip install 'reward-gateway-client\[progress\]'"):
        waiting_with_a_bar(gateway_url, [{"response": "1"}], reward="stated")


@pytest.mark.parametrize("score", ALL)
def test_a_result_for_each_sample_in_their_order(gateway_url: str, score: Score) -> None:
    numbers = [round(i / 200, 3) for i in range(200)]
    samples: list[Sample] = [{"id": f"s{i}", "response": str(number)} for i, number in enumerate(numbers)]
    samples[7]["response"] = "throw"
    found = score(gateway_url, samples, reward="stated")
    assert [result.id for result in found] == [f"s{i}" for i in range(200)]
    assert [result.reward for result in found] == [*numbers[:7], None, *numbers[8:]]
    assert found[7].failure is not None
    assert (found[7].valid, found[7].failure["kind"]) == (False, "rule_error")
    assert set(found[7].metrics) == set(found[8].metrics) == {"stated", "stated_scored"}


@pytest.mark.parametrize("score", [waiting, streamed_async])
def test_a_request_that_is_refused_raises_with_its_code(gateway_url: str, score: Score) -> None:
    with pytest.raises(GatewayRefused, match="RG_REWARD_UNKNOWN") as refused:
        score(gateway_url, [{"response": "1"}], reward="stateed")
    assert (refused.value.status, refused.value.code) == (404, "RG_REWARD_UNKNOWN")
    assert refused.value.request_id
    with pytest.raises(GatewayRefused, match="training_step"):
        score(gateway_url, [{"response": "1"}], reward="stated", training_step=-1)
    with pytest.raises(ValueError, match="no samples"):
        score(gateway_url, [], reward="stated")


def test_terms_parts_and_the_whole_are_read_by_name(gateway_url: str) -> None:
    bad, good, less = waiting(
        gateway_url, [{"response": "throw"}, {"response": "1"}, {"response": "0.50"}], reward="two"
    )
    names = ["reward", "stated", "stated.length", "again"]
    assert [good.score(name) for name in names] == [1.5, 1, 1, 1]
    assert [less.score(name) for name in names] == [0.5, 0.5, 4, None]
    assert [bad.score(name) for name in names] == [None] * 4
    with pytest.raises(KeyError, match="it has stated, again"):
        good.score("quality")


def test_what_has_no_reward_raises_or_takes_the_substitute(gateway_url: str) -> None:
    samples: list[Sample] = [{"response": "throw"}, {"response": "1"}]
    bad, good = waiting(gateway_url, samples, reward="kept")
    assert (reward_of(good), number_of(good), number_of(bad)) == (1, 1, 0.25)
    with pytest.raises(Unscorable, match="rule_error") as raised:
        reward_of(bad)
    assert (raised.value.sample_id, raised.value.kind) == ("0", "rule_error")
    with pytest.raises(Unscorable):
        number_of(waiting(gateway_url, samples, reward="stated")[0])


def test_numpy_values_and_messages_arrive_as_they_are_meant(gateway_url: str) -> None:
    sample: Any = {
        "prompt": np.array([{"role": "system", "content": None}, {"role": "user", "content": "ask"}], dtype=object),
        "response": "x",
        "ground_truth": np.str_("7"),
        "extra_info": {"level": np.int64(3), "scores": np.array([1.0, np.nan]), 5: {np.float32(0.5)}},
    }
    (result,) = waiting(gateway_url, [sample], reward="same")
    assert (result.reward, result.flags) == (1, ["non_finite_input"])
