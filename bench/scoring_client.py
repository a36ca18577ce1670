"""What a trainer runs to score: builds questions and reads verdicts itself, or leaves both to a gateway.

usage: scoring_client.py {judge,gateway} URL SAMPLES BYTES CONCURRENCY [BATCH]

`judge` asks a question a sample at URL; `gateway` sends batches of at most BATCH samples (64) to it. Both have CONCURRENCY
samples under way. Prints the seconds, the processor's seconds of this process, and p50 and p99 of a request in
milliseconds, as JSON.
"""

import asyncio
import resource
import sys
import time
from typing import Any

import aiohttp
import orjson
import uvloop

TEMPLATE = """Does the answer solve the question? Judge the result, not the style.
Reply with 1 (yes) or 0 (no) only.

Question:
{question}

Answer:
{answer}"""

FILLER = "We add the apples of the first day to those of the second day, and then we count again. "
LARGEST_BATCH = 64
JSON = {"content-type": "application/json"}

Sample = dict[str, str]


def make_samples(count: int, size: int) -> list[Sample]:
    """Different samples whose responses have about that many bytes."""
    text = (FILLER * (size // len(FILLER) + 1))[:size]
    stamp = time.time_ns()
    return [
        {"id": str(i), "prompt": f"How many apples are there on day {stamp + i}?", "response": f"{text}#### {i}"}
        for i in range(count)
    ]


async def post(session: aiohttp.ClientSession, url: str, body: Any) -> Any:
    """The JSON that answers a JSON body."""
    async with session.post(url, data=orjson.dumps(body), headers=JSON) as answer:
        answer.raise_for_status()
        return orjson.loads(await answer.read())


async def judged(session: aiohttp.ClientSession, url: str, batch: list[Sample]) -> list[float | None]:
    """The verdict on the only sample of the batch; None where the text holds none."""
    (sample,) = batch
    question = TEMPLATE.format(question=sample["prompt"], answer=sample["response"])
    body = {
        "model": "judge",
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "structured_outputs": {"choice": ["1", "0"]},
    }
    answer = await post(session, f"{url}/v1/chat/completions", body)
    text = answer["choices"][0]["message"]["content"].strip()
    return [float(text) if text in ("0", "1") else None]


async def scored(session: aiohttp.ClientSession, url: str, batch: list[Sample]) -> list[float | None]:
    """The rewards of a batch, as the gateway says."""
    answer = await post(session, f"{url}/v1/score", {"reward": "judged", "samples": batch})
    return [result["reward"] for result in answer["results"]]


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def main(  # noqa: PLR0913
    mode: str, url: str, count: int, size: int, concurrency: int, largest: int = LARGEST_BATCH
) -> None:
    """Scores a few samples to warm up, then all of them."""
    batch_size = 1 if mode == "judge" else min(largest, concurrency)
    workers = max(1, concurrency // batch_size)
    ask = judged if mode == "judge" else scored
    connector = aiohttp.TCPConnector(limit=workers)
    timeout = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        took: list[float] = []

        async def score(samples: list[Sample]) -> None:
            batches = iter([samples[at : at + batch_size] for at in range(0, len(samples), batch_size)])

            async def work() -> None:
                for batch in batches:
                    began = time.perf_counter()
                    rewards = await ask(session, url, batch)
                    took.append((time.perf_counter() - began) * 1000)
                    if any(reward != 1 for reward in rewards):
                        raise RuntimeError("a sample was not scored 1")

            await asyncio.gather(*(work() for _ in range(workers)))

        await score(make_samples(concurrency, size))
        samples = make_samples(count, size)
        took.clear()
        started, used = time.perf_counter(), cpu_seconds()
        await score(samples)
        result = {"seconds": time.perf_counter() - started, "cpu": cpu_seconds() - used}
        took.sort()
        result |= {"p50": took[len(took) // 2], "p99": took[len(took) * 99 // 100]}
    sys.stdout.write(orjson.dumps(result).decode())


if __name__ == "__main__":
    mode, url, *numbers = sys.argv[1:]
    uvloop.run(main(mode, url, *map(int, numbers)))
