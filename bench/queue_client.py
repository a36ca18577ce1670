"""Scores different rows of 4 KB one by one, all awaited at once: from a run's queue or in held requests.

usage: queue_client.py {run,held} URL RUN ROWS

Prints the processor's seconds of this process, without its start.
"""

import asyncio
import resource
import sys
import time

from reward_gateway_client import AsyncRewardGateway, AsyncRun

FILLER = "We add the apples of the first day to those of the second day, and then we count again. " * 46


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def main(way: str, url: str, run: str, count: int) -> None:
    rows = [{"prompt": f"{time.time_ns()}?", "response": f"{FILLER}{i}", "ground_truth": "42"} for i in range(count)]
    started = cpu_seconds()
    if way == "run":
        async with AsyncRun(url, run, reward="rule") as client:
            results = await asyncio.gather(*(client.score([row]) for row in rows))
    else:
        async with AsyncRewardGateway(url, reward="rule", max_connections=64) as client:
            results = await asyncio.gather(*(client.score([row]) for row in rows))
    spent = cpu_seconds() - started
    if any(result.reward is None for (result,) in results):
        sys.exit("a row has no reward")
    print(spent)


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
