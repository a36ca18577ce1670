"""Code as users write it. mypy and pyright accept it in their strict modes; nothing runs it."""

from collections.abc import Mapping
from typing import Any

from reward_gateway_client import AsyncRewardGateway, AsyncRun, Failure, Final, Result, RewardGateway, Run, Sample
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


async def submitting(run: AsyncRun) -> list[str]:
    rows = [{"prompt": "q", "response": "a"}]
    accepted = await run.submit(rows[0], "a", attempt=2)
    named = {one.uid: one.attempt for one in await run.submit_many({"b": rows[0]})}
    (result,) = await run.score(rows)
    print(accepted.state, named, result.reward, (await run.wait("b")).result.failure, await run.cancel(group=7))
    async for _, found in run.stream(rows):
        print(found.flags)
    return [final.cursor async for final in run.finals(follow=False)]


def submitted(run: Run, after: str) -> list[Final]:
    run.submit_many([{"response": "a"}], priority=1)
    credits = run.credits
    print(0 if credits is None else credits.rollouts, run.status().unfinished)
    return list(run.finals(after))


functions = gateway_rewards("http://gateway:8080", reward="gsm8k")
with RewardGateway("http://gateway:8080") as opened:
    body: bytes = opened.post("/v1/score", {})
    opened.close()
