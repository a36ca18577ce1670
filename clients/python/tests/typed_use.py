"""Code as users write it. mypy and pyright accept it in their strict modes; nothing runs it."""

from collections.abc import Mapping
from typing import Any

from reward_gateway_client import AsyncRewardGateway, Failure, Result, RewardGateway, Sample
from reward_gateway_client.trl import gateway_rewards


def sync(gateway: RewardGateway, found: Result) -> str:
    rows = [{"prompt": "q", "response": "a"}]
    mixed: list[dict[str, Any]] = [{"response": "a", "ground_truth": 7}]
    frozen: tuple[Mapping[str, object], ...] = ()
    typed: list[Sample] = [{"response": "a"}]
    gateway.score(rows)
    gateway.score(mixed)
    gateway.score(frozen, progress=True)
    list(gateway.stream(typed))
    for one in gateway.score(rows):
        print(one.reward, one.steps, one.metrics["a"], one.terms["a"]["score"])
    failure: Failure | None = found.failure
    return failure["kind"] + failure["detail"] if failure else ""


async def awaiting(gateway: AsyncRewardGateway) -> None:
    rows = [{"prompt": "q", "response": "a"}]
    await gateway.score(rows)
    async for index, result in gateway.stream(rows):
        print(index, result.flags)


functions = gateway_rewards("http://gateway:8080", reward="gsm8k")
with RewardGateway("http://gateway:8080") as opened:
    body: bytes = opened.post("/v1/score", {})
    opened.close()
