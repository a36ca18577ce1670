"""Runs over gateways that are killed, full, silent or without their folder."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Queued
from reward_gateway_client import AsyncRun, GatewayUnreachable, RolloutLost, RolloutsRefused, Run
from rollouts import held, sample, unfinished, until
from scripted import Answer, Handler, ScriptedServer, reset, result, silent, status

pytestmark = pytest.mark.usefixtures("short_pauses")


def test_kill_9_of_the_gateway_loses_and_doubles_nothing(tmp_path: Path) -> None:
    gateway = Queued(tmp_path)

    async def work() -> None:
        async with (
            AsyncRun(gateway.url, "run", reward="stated", timeout_s=60) as run,
            AsyncRun(gateway.url, "run") as other,
        ):
            seen: list[str] = []

            async def follow() -> None:
                async for final in other.finals():
                    seen.append(final.uid)
                    if len(seen) == 400:
                        return

            following = asyncio.create_task(follow())
            waits = [asyncio.create_task(run.score([sample("slow" if n % 50 == 0 else n / 512)])) for n in range(200)]
            await until(lambda: len(seen) >= 20)
            gateway.kill()
            waits += [asyncio.create_task(run.score([sample(n / 512)])) for n in range(200, 400)]
            assert not all(one.done() for one in waits)
            await asyncio.to_thread(gateway.start)
            results = await asyncio.gather(*waits)
            assert [one.reward for (one,) in results] == [
                0.5 if n < 200 and n % 50 == 0 else n / 512 for n in range(400)
            ]
            await asyncio.wait_for(following, 30)
            assert len(set(seen)) == 400
            assert (await run.status()).finals == 400

    try:
        asyncio.run(work())
    finally:
        gateway.kill()


def test_a_queue_without_room_is_named_with_its_wait(tmp_path: Path) -> None:
    gateway = Queued(tmp_path, "max_rollouts: 4")

    async def work() -> None:
        async with AsyncRun(gateway.url, "run", reward="joined") as run:
            await run.submit_many({str(n): held(str(n)) for n in range(4)})
            assert run.credits is not None
            assert run.credits.rollouts == 0
            async with AsyncRun(gateway.url, "run", reward="joined", timeout_s=5) as hasty:
                with pytest.raises(GatewayUnreachable, match=r"RG_OVERLOADED.*Retry-After \d+ s with"):
                    await hasty.submit(held("x"))
            assert await run.cancel(group="0") + await run.cancel(group="1") == 2
            assert len(await run.submit_many([held("x"), held("y")])) == 2

    try:
        asyncio.run(work())
    finally:
        gateway.kill()


def test_a_folder_that_is_gone_ends_the_wait(tmp_path: Path) -> None:
    gateway = Queued(tmp_path)

    async def work() -> None:
        async with AsyncRun(gateway.url, "run", reward="joined") as run:
            waiting = asyncio.create_task(run.score([held("g")]))
            await unfinished(run, 1)
            assert (await run.score([sample(1, group_id="z", group_size=1)]))[0].reward == 1
            gateway.kill()
            (tmp_path / "queue").rename(tmp_path / "elsewhere")
            await asyncio.to_thread(gateway.start)
            with pytest.raises(RolloutLost, match="no longer knows"):
                await asyncio.wait_for(waiting, 20)

    try:
        asyncio.run(work())
    finally:
        gateway.kill()


def accepted(*refused: str) -> Answer:
    """Accepts all lines but those with these uids, for which there is no room."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        error = {"code": "RG_OVERLOADED", "message": "no room", "status": 429}
        uids = [line["uid"] for line in body["lines"]]
        rows: list[dict[str, Any]] = [
            {"line": at, "uid": uid, "error": error}
            if uid in refused
            else {"uid": uid, "attempt": 1, "state": "queued"}
            for at, uid in enumerate(uids, 1)
        ]
        credits = {"rollouts": 100, "bytes": 10**9}
        handler.send(202, {"results": rows, "credits": credits}, {"retry_after": "0.2"} if refused else {})

    return answer


def test_a_batch_without_an_accepted_line_is_sent_once_and_each_line_has_its_error(scripted: ScriptedServer) -> None:
    def refused(handler: Handler, body: dict[str, Any]) -> None:
        def error(uid: str) -> dict[str, Any]:
            code, status = ("RG_OVERLOADED", 429) if uid == "later" else ("RG_REQUEST_INVALID", 400)
            return {"code": code, "message": f"what {uid} lacks", "status": status}

        rows = [{"line": at, "uid": one["uid"], "error": error(one["uid"])} for at, one in enumerate(body["lines"], 1)]
        told = {"error": error("later"), "results": rows, "credits": {"rollouts": 9, "bytes": 10**9}}
        handler.send(429, told, {"retry_after": "0.1"})

    scripted.answers = [refused, accepted()]
    with Run(scripted.url, "run", reward="r") as run, pytest.raises(RolloutsRefused) as failed:
        run.submit_many({"a": sample(1), "later": sample(2), "c": sample(3)})
    assert {uid: str(one) for uid, one in failed.value.refused.items()} == {
        "a": "RG_REQUEST_INVALID: what a lacks",
        "c": "RG_REQUEST_INVALID: what c lacks",
    }
    asked = [[line["uid"] for line in request["body"]["lines"]] for request in scripted.requests]
    assert asked == [["a", "later", "c"], ["later"]]


def test_batches_become_as_short_as_the_gateway_takes_them(scripted: ScriptedServer) -> None:
    def short(handler: Handler, body: dict[str, Any]) -> None:
        (accepted() if len(body["lines"]) <= 16 else status(413, "RG_REQUEST_TOO_LARGE"))(handler, body)

    scripted.answers = [short] * 100
    with Run(scripted.url, "run", reward="r") as run:
        first = run.submit_many({f"{n:03}": sample(1) for n in range(128)})
        tried = len(scripted.requests)
        second = run.submit_many({f"{n:03}": sample(1) for n in range(128, 256)})
    assert [one.uid for one in first + second] == [f"{n:03}" for n in range(256)]
    assert len(scripted.requests) - tried in (8, 9), "the limit is remembered"


def test_lines_without_an_answer_are_sent_again_as_the_same_bytes(scripted: ScriptedServer) -> None:
    scripted.answers = [reset, status(503, "RG_CLOSING"), accepted("b"), accepted()]
    started = time.monotonic()
    with Run(scripted.url, "run", reward="r") as run:
        run.submit_many({"a": sample(1), "b": sample(2), "c": sample(3)}, training_step=4, deadline_s=9, priority=2)
    lines = [request["raw"].split(b"\n") for request in scripted.requests]
    assert lines[0] == lines[1] == lines[2]
    assert lines[3] == [lines[0][1]]
    assert time.monotonic() - started >= 0.2
    first = json.loads(lines[0][0])
    assert first == {"uid": "a", "reward": "r", "training_step": 4, "deadline_s": 9, "priority": 2, "sample": sample(1)}


def test_reading_goes_on_where_a_connection_broke(scripted: ScriptedServer) -> None:
    def page(*numbers: int, unfinished: int = 1) -> Answer:
        rows = [
            {"uid": str(n), "attempt": 1, "state": "scored", "cursor": f"c-{n}", "at": 1.0, "result": result(n, 1)}
            for n in numbers
        ]
        return lambda handler, _: handler.send(
            200, {"results": rows, "cursor": f"c-{numbers[-1]}" if numbers else "c-0", "unfinished": unfinished}
        )

    scripted.answers = [page(1, 2), reset, status(502, "x"), page(3), page(4, unfinished=0), page(unfinished=0)]
    with Run(scripted.url, "run") as run:
        found = [one.uid for one in run.finals(follow=False)]
    assert found == ["1", "2", "3", "4"]
    asked = [request["path"].partition("after=")[2] for request in scripted.requests]
    assert asked == ["", "c-2", "c-2", "c-2", "c-3", "c-4"]


def test_a_gateway_that_stays_away_is_named_within_the_time_limit(scripted: ScriptedServer) -> None:
    scripted.answers = [silent] * 4
    for work in (
        lambda run: run.submit(sample(1)),
        lambda run: run.score([sample(1)]),
        lambda run: run.cancel("a"),
    ):
        started = time.monotonic()
        with Run(scripted.url, "run", reward="r", timeout_s=0.3) as run, pytest.raises(GatewayUnreachable):
            work(run)
        assert time.monotonic() - started < 2
