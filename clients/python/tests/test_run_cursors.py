"""Where a reader of a run's finals goes on, with a real gateway that has a queue."""

import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest

from conftest import Queued
from reward_gateway_client import (
    AsyncRun,
    CursorLost,
    Partial,
    Run,
)
from rollouts import sample
from scripted import ScriptedServer

pytestmark = pytest.mark.usefixtures("short_pauses")


def test_a_loop_that_broke_off_goes_on_behind_what_it_finished(queued: Queued, name: str, tmp_path: Path) -> None:
    file = tmp_path / "cursor"

    async def some(count: int) -> list[str]:
        found = []
        async with AsyncRun(queued.url, name, reward="stated", cursor_file=file) as run:
            if count == 3:
                await run.submit_many({str(n): sample(0.5) for n in range(8)})
            async for final in run.finals(follow=False):
                found.append(final.uid)
                if len(found) == count:
                    break
        return found

    first = asyncio.run(some(3))
    rest = asyncio.run(some(99))
    # The third was handed out, but the loop did not come back for the next one: its work may be lost.
    assert rest[0] == first[2]
    assert sorted(first[:2] + rest) == [str(n) for n in range(8)]

    async def given() -> list[str]:
        async with AsyncRun(queued.url, name) as run:
            everything = [final async for final in run.finals(follow=False)]
        async with AsyncRun(queued.url, name, after=everything[4].cursor) as run:
            return [final.uid async for final in run.finals(follow=False)] + [one.uid for one in everything[:5]]

    assert sorted(asyncio.run(given())) == sorted(first[:2] + rest)


def test_a_cursor_that_the_gateway_lost_names_where_to_go_on(
    queued: Queued, name: str, scripted: ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "cursor"
    with Run(queued.url, name, reward="stated", after="0123456789ab-7", cursor_file=file) as run:
        run.submit(sample(1), "a")
        with pytest.raises(CursorLost, match="no such cursor") as lost:
            next(run.finals())
        assert lost.value.lost is None
        assert [one.uid for one in run.finals(lost.value.go_on, follow=False)] == ["a"]
        told: list[CursorLost] = []
        assert [one.uid for one in run.finals("0123456789ab-7", follow=False, on_lost=told.append)] == ["a"]
        assert [one.go_on for one in told] == [lost.value.go_on]
        assert [one.uid for one in run.finals("0123456789ab-7", follow=False, on_lost=lambda _: None)] == ["a"]
        assert file.read_text() == run.cursor
        pickled = pickle.loads(pickle.dumps(lost.value))
        assert (pickled.go_on, pickled.lost) == (lost.value.go_on, None)
    gone = {"code": "RG_CURSOR_UNKNOWN", "message": "3 finals are gone", "cursor": "0123456789ab-12", "lost": 3}
    scripted.answers = [lambda handler, _: handler.send(410, {"error": gone})] * 2
    with Run(scripted.url, name) as run, pytest.raises(CursorLost) as named:
        next(run.finals("0123456789ab-9"))
    assert (named.value.go_on, named.value.lost) == ("0123456789ab-12", 3)
    with Run(scripted.url, name) as run, pytest.raises(CursorLost):
        next(run.finals("0123456789ab-12", on_lost=told.append))
    assert len(told) == 1, "a gateway that knows no cursor at all is not asked again and again"


def test_early_results_come_once_and_the_cursor_counts_them(
    queued: Queued, name: str, scripted: ScriptedServer, tmp_path: Path
) -> None:
    early = {
        "uid": "a",
        "attempt": 1,
        "state": "partial",
        "cursor": "0123456789ab-0-1",
        "at": 2.5,
        "terms": {"rule": {}},
    }
    found = {"id": "a", "reward": 1.0, "valid": True, "failure": None, "substitute": None, "terms": {}, "metrics": {}}
    final = {
        **{"uid": "a", "attempt": 1, "state": "scored", "cursor": "0123456789ab-1-1", "at": 3.0},
        **{"reward": {"name": "math", "version": "v1"}, "result": {**found, "flags": []}},
    }
    asked: list[str] = []

    def page(rows: list[object], partials: list[object], cursor: str, left: int) -> Any:
        def answer(handler: Any, _: object) -> None:
            asked.append(handler.path)
            reply = {"results": rows, "partials": partials, "cursor": cursor, "unfinished": left, "credits": {}}
            handler.send(200, reply)

        return answer

    scripted.answers = [
        page([], [early], "0123456789ab-0-1", 1),
        page([final], [], "0123456789ab-1-1", 0),
        page([], [], "0123456789ab-1-1", 0),
    ]
    told: list[Partial] = []
    file = tmp_path / "cursor"
    with Run(scripted.url, name, cursor_file=file) as run:
        finals = list(run.finals(follow=False, on_partial=told.append))
    assert [(one.uid, one.attempt, one.at, dict(one.terms)) for one in told] == [("a", 1, 2.5, {"rule": {}})]
    assert [(one.reward_name, one.reward_version, one.result.reward) for one in finals] == [("math", "v1", 1.0)]
    assert file.read_text() == "0123456789ab-1-1"
    assert all("partials=true" in path for path in asked)
    assert ["after=0123456789ab-0-1" in path for path in asked] == [False, True, False]
    with Run(queued.url, name, reward="stated") as run:
        run.submit(sample(0.5), "a", partial=True)
        run.submit_many([sample(0.5)], partial=True)
        both = list(run.finals(follow=False, on_partial=told.append))
        assert [(one.reward_name, bool(one.reward_version)) for one in both] == [("stated", True)] * 2
        assert run.credits is not None
        assert run.credits.questions == 2_000_000
