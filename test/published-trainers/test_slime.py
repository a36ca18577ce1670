"""slime is not published as a package: this sends the request of its `remote_rm` and reads the reply as it does."""

import asyncio
import random
from typing import Any

import aiohttp

from losing import Losing
from served import Served


async def remote_rm(url: str, response: str, label: str, pause_s: float) -> Any:
    """One sample; every error is retried ten times. The reply is the reward itself."""
    payload = {"prompt": [{"role": "user", "content": "2+2?"}], "response": response, "label": label}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120)) as session:
        for _ in range(10):
            try:
                async with session.post(url, json=payload) as answer:
                    answer.raise_for_status()
                    return await answer.json()
            except aiohttp.ClientError:
                await asyncio.sleep(pause_s + random.random() * pause_s)
    raise RuntimeError("ten failed tries")


def rewarded(url: str, response: str, label: str = "4", query: str = "") -> Any:
    return asyncio.run(remote_rm(f"{url}/wire/slime/answer{query}", response, label, 0.01))


def test_good_slow_and_invalid_answers_are_numbers(gateway: Served) -> None:
    answers = ("4", "5", "slow", "throw", "never")
    assert [rewarded(gateway.url, answer) for answer in answers] == [1, 0, 0.5, 0, 0]


def test_a_reward_key_asks_for_an_object_that_tells(gateway: Served) -> None:
    good, broken = (rewarded(gateway.url, answer, query="?reward_key=score") for answer in ("4", "throw"))
    assert (good["score"], good["invalid"]) == (1, 0)
    assert (broken["score"], broken["invalid"]) == (0, 1)


def test_a_retry_repeats_the_answer_and_is_scored_once(gateway: Served, losing: Losing) -> None:
    scored = gateway.metric("samples_total", reward="answer")
    assert rewarded(losing.url, "7", label="7") == 1
    assert list(losing.tries.values()) == [3]
    assert gateway.metric("samples_total", reward="answer") == scored + 1
