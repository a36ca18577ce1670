"""Rollouts that tests submit, and what they wait for."""

import asyncio
from collections.abc import Callable

from reward_gateway_client import AsyncRun


def sample(response: object, **more: object) -> dict[str, object]:
    return {"prompt": "q", "response": str(response), "ground_truth": "0", **more}


def held(group: str, **more: object) -> dict[str, object]:
    """Waits for another answer of its group."""
    return sample(1, group_id=group, group_size=2, **more)


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


async def unfinished(run: AsyncRun, count: int) -> None:
    while (await run.status()).unfinished != count:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
