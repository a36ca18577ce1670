"""AsyncRun and Run with a real gateway that has a queue."""

import asyncio
import copy
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from asked import Run as InLoop
from conftest import Queued
from reward_gateway_client import (
    AsyncRun,
    ClientUnusable,
    Final,
    GatewayRefused,
    RolloutLost,
    RolloutsRefused,
    Run,
    Unscorable,
    areal,
    slime,
    verl,
)
from reward_gateway_client.shared import score_shared_sync
from rollouts import held, sample, unfinished, until

pytestmark = pytest.mark.usefixtures("short_pauses")


async def read(run: AsyncRun) -> dict[str, Final]:
    return {final.uid: final async for final in run.finals(follow=False)}


def test_rollouts_come_back_with_their_rewards_each_once(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="stated") as run:
            assert (await run.status()).finals == 0
            first = await run.submit(sample(0.25), "r/1")
            assert (first.uid, first.attempt) == ("r/1", 1)
            assert (await run.submit(sample(0.25), "r/1")).attempt == 1, "the same again is the same"
            many = await run.submit_many({f"m-{n}": sample(n / 1000) for n in range(600)})
            assert [one.uid for one in many] == [f"m-{n}" for n in range(600)]
            unnamed = await run.submit_many([sample(1), sample("throw")])
            assert run.credits is not None
            assert run.credits.rollouts <= 200_000
            found = await read(run)
            assert len(found) == 603
            assert found["r/1"].result.reward == 0.25
            assert {uid: one.result.reward for uid, one in found.items() if uid.startswith("m-")} == {
                f"m-{n}": n / 1000 for n in range(600)
            }
            broken = found[unnamed[1].uid]
            assert (broken.state, broken.result.reward) == ("invalid", None)
            assert broken.result.failure is not None
            assert broken.result.failure["kind"] == "rule_error"
            assert await read(run) == {}
            assert (await run.wait("r/1")) == found["r/1"]
            stands = await run.status()
            assert (stands.unfinished, stands.finals, stands.cursor) == (0, 603, run.cursor)

    asyncio.run(work())


def test_thousands_of_awaits_share_three_connections(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="stated") as run:
            most = 0

            async def one(n: int) -> float | None:
                nonlocal most
                (found,) = await run.score([sample(n / 4096)])
                if n % 64 == 0:
                    most = max(most, connections_to(queued.url))
                return found.reward

            assert await asyncio.gather(*map(one, range(2048))) == [n / 4096 for n in range(2048)]
            assert 1 <= most <= 3

    asyncio.run(work())


def connections_to(url: str) -> int:
    """Established connections of this process."""
    port = int(url.rpartition(":")[2])
    own = set()
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            own.add(os.readlink(fd))
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return sum(f"socket:[{row[9]}]" in own for row in rows if int(row[2].split(":")[1], 16) == port and row[3] == "01")


def test_answers_of_one_call_are_compared_and_those_of_others_are_not(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="joined") as run:
            three, two, named = await asyncio.gather(
                run.score([sample(n) for n in range(3)]),
                run.score([sample(1), sample(2)]),
                run.score([sample(1, group_id=7), sample(2, group_id=7), *(sample(n, group_id=8) for n in range(4))]),
            )
            assert [one.reward for one in three + two + named] == [3, 3, 3, 2, 2, 2, 2, 4, 4, 4, 4]
            streamed = {index: found.reward async for index, found in run.stream([sample(1), sample(1)])}
            assert streamed == {0: 2, 1: 2}

    asyncio.run(work())


def test_threads_share_a_run(queued: Queued, name: str) -> None:
    with Run(queued.url, name, reward="stated", timeout_s=20) as run:
        rewards: dict[int, float | None] = {}

        def one(n: int) -> None:
            rewards[n] = run.score([sample(n / 64)])[0].reward

        threads = [threading.Thread(target=one, args=(n,)) for n in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rewards == {n: n / 64 for n in range(64)}
        run.submit(sample(1), "a")
        run.submit_many([sample(1)])
        assert len(list(run.finals(follow=False))) == 66
        assert run.wait("a").result.reward == 1
        assert dict(run.stream([sample(1)]))[0].reward == 1
        assert (run.cancel("a"), run.status().unfinished, run.credits is None) == (0, 0, False)
        for other in (pickle.loads(pickle.dumps(run)), copy.copy(run)):
            with other:
                assert other.score([sample(0.5)])[0].reward == 0.5
    with pytest.raises(ClientUnusable):
        run.submit(sample(1))


def test_what_is_cancelled_by_uid_group_and_version_has_a_final(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="joined") as run:
            await run.submit_many(
                {
                    "uid": held("a"),
                    "group": held("b"),
                    "old": held("c", policy_version=4),
                    "new": held("d", policy_version={"first": 5, "last": 9}),
                }
            )
            assert await run.cancel("uid") == 1
            assert await run.cancel(group="b") == 1
            assert await run.cancel(policy_version_below=5) == 1
            with pytest.raises(ValueError, match="name a uid"):
                await run.cancel()
            waiting = asyncio.create_task(run.wait("new"))
            await asyncio.sleep(0)
            assert await run.cancel("new") == 1
            assert (await waiting).state == "cancelled"
            found = await read(run)
            assert {one.state for one in found.values()} == {"cancelled"}
            assert {(one.result.failure or {}).get("kind") for one in found.values()} == {"cancelled"}

    asyncio.run(work())


def test_a_call_that_is_cancelled_leaves_nothing_to_score(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="joined") as run:
            calls = [asyncio.create_task(run.score([held(str(n))])) for n in range(5)]
            await unfinished(run, 5)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await unfinished(run, 0)
            assert {one.state for one in (await read(run)).values()} == {"cancelled"}

    asyncio.run(work())


def test_a_newer_attempt_ends_the_wait_for_the_older(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="joined") as run:
            await run.submit(held("g"), "partial")
            older = asyncio.create_task(run._waits.of("partial", lambda: run.submit(held("g"), "partial")))
            await until(lambda: any(wait.attempt for wait in run._waits._all()))
            again = await run.submit(held("g", extra_info={"turn": 2}), "partial")
            assert again.attempt == 2
            await run.submit(held("g"), "other")
            with pytest.raises(RolloutLost, match="attempt 1 of the rollout 'partial' was replaced by attempt 2"):
                await older
            assert (await run.wait("partial")).result.reward == 2
            with pytest.raises(RolloutLost, match="which has a newer one"):
                await run._waits.of("partial", lambda: run.submit(held("g"), "partial"))
            with pytest.raises(GatewayRefused, match="RG_ATTEMPT_CONFLICT") as conflict:
                await run.submit(held("g", extra_info={"turn": 3}), "partial", attempt=1)
            assert conflict.value.status == 409

    asyncio.run(work())


def test_a_refused_rollout_does_not_cost_the_others(queued: Queued, name: str) -> None:
    async def work() -> None:
        async with AsyncRun(queued.url, name, reward="stated") as run:
            group_missing = sample(1)
            with pytest.raises(RolloutsRefused, match="2 of 4 rollouts were refused") as refused:
                await asyncio.gather(
                    run.submit_many({str(n): sample(1) for n in range(2)}),
                    run.submit_many(
                        {"a": group_missing, "b": group_missing, "c": held("g"), "d": held("g")}, reward="joined"
                    ),
                )
            assert set(refused.value.refused) == {"a", "b"}
            assert refused.value.refused["a"].status == 400
            with pytest.raises(RolloutsRefused) as unknown:
                await run.submit_many([sample(1)] * 3, reward="nobody")
            assert {one.code for one in unknown.value.refused.values()} == {"RG_REWARD_UNKNOWN"}
            with pytest.raises(GatewayRefused, match="RG_REWARD_UNKNOWN"):
                await run.score([sample(1)], reward="nobody")
            with pytest.raises(ValueError, match="uid"):
                await run.submit(sample(1), "two words")
            assert sorted(await read(run)) == ["0", "1", "c", "d"]
            pickle.loads(pickle.dumps(refused.value))
        with pytest.raises(ValueError, match="name"):
            AsyncRun(queued.url, "a/b")
        with pytest.raises(ValueError, match="REWARD_GATEWAY_RUN"):
            AsyncRun(queued.url)

    asyncio.run(work())


def test_a_gateway_without_a_queue_says_so(gateway_url: str) -> None:
    with Run(gateway_url, "run", reward="stated") as run:
        for call in (lambda: run.submit(sample(1)), lambda: list(run.finals()), lambda: run.score([sample(1)])):
            with pytest.raises(GatewayRefused, match="the queue is off"):
                call()


def test_a_run_closes_without_a_word_whatever_is_under_way(queued: Queued, name: str) -> None:
    code = f"""
import asyncio, os
from reward_gateway_client import AsyncRun, ClientUnusable, Run
from reward_gateway_client.shared import shared_async_run
held = lambda n: {{"response": "1", "group_id": str(n), "group_size": 2}}
async def closed():
    async with AsyncRun({queued.url!r}, {name!r}, reward="joined") as run:
        calls = [asyncio.ensure_future(run.score([held(n)])) for n in range(3)]
        finals = run.finals()
        following = asyncio.ensure_future(anext(finals))
        while (await run.status()).unfinished < 3: await asyncio.sleep(0.01)
    print(*(type(one).__name__ for one in await asyncio.gather(*calls, following, return_exceptions=True)))
async def left():
    run = AsyncRun({queued.url!r}, {name!r}, reward="joined")
    calls = [asyncio.ensure_future(run.score([held(n)])) for n in range(3, 6)]
    while (await run.status()).unfinished < 6: await asyncio.sleep(0.01)
    for call in calls: call.cancel()
    await run.close()
async def failed():
    run = shared_async_run({queued.url!r})
    calls = [asyncio.ensure_future(run.score([held(n)], reward="joined")) for n in range(20, 25)]
    while (await run.status()).unfinished < 8: await asyncio.sleep(0.01)
    async def slow():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.3)
    lasting = asyncio.ensure_future(slow())
    await asyncio.sleep(0)
    raise ZeroDivisionError
os.environ["REWARD_GATEWAY_RUN"] = {name!r}
asyncio.run(closed())
asyncio.run(left())
try:
    asyncio.run(failed())
except ZeroDivisionError:
    pass
AsyncRun({queued.url!r}, "never-used")
run = Run({queued.url!r}, {name!r}, reward="joined")
stream = run.finals()
run.submit(held(10))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stderr == ""
    assert ended.stdout.split() == ["ClientUnusable"] * 4
    assert ended.returncode == 0


def test_adapters_score_through_the_queue_if_told_to(
    queued: Queued, name: str, monkeypatch: pytest.MonkeyPatch, run: InLoop
) -> None:
    for key, value in (("URL", queued.url), ("REWARD", "stated"), ("QUEUE", "1")):
        monkeypatch.setenv(f"REWARD_GATEWAY_{key}", value)

    def rollout(response: str) -> SimpleNamespace:
        state = SimpleNamespace(value="completed")
        fields = {"prompt": "q", "label": "0", "metadata": {}, "group_index": 3, "status": state, "tokens": []}
        return SimpleNamespace(**fields, response=response, response_length=0, weight_versions=[])

    settings = SimpleNamespace(rm_url=None)
    with pytest.raises(ValueError, match="REWARD_GATEWAY_RUN"):
        run(lambda: slime.reward(settings, rollout("1")))
    monkeypatch.setenv("REWARD_GATEWAY_RUN", name)

    async def both() -> Any:
        return await asyncio.gather(
            slime.reward(settings, rollout("0.5")),
            slime.reward(settings, [rollout("0.25"), rollout("1")]),
            areal.awaited_reward("q", "0.75", [1], [2]),
            verl.compute_score("sums", "0.125", "0"),
        )

    one, group, awaited, scored = run(both)
    assert (one, group, awaited, scored["score"]) == (0.5, [0.25, 1], 0.75, 0.125)
    assert [found.reward for found in score_shared_sync([sample(1)], reward="stated")] == [1]
    with pytest.raises(Unscorable, match="rule_error"):
        run(lambda: slime.reward(settings, rollout("throw")))
    with pytest.raises(ValueError, match="takes no address"):
        run(lambda: slime.reward(SimpleNamespace(rm_url=f"{queued.url}/wire/slime/stated"), rollout("1")))
    with Run(queued.url, name) as other:
        assert other.status().finals == 7
