"""Trainers of little patience lose no reward while replicas behind HAProxy restart, and get none that is not theirs.

`ROUNDS` restarts both replicas that often; more for a figure than for a test."""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from asking import Asked
from balanced import Balanced, opened
from callers import ANSWER

IMPATIENT = [
    "axolotl, NeMo Gym plug-in",
    "eval-protocol, call",
    "eval-protocol, `get_trl_adapter`",
    "LLaMA-Factory",
    "miles, `remote_rm`",
    "Open-Instruct",
    "OpenRLHF",
]
"""They try once, or give up before a gateway is back."""

ROUNDS = int(os.environ.get("ROUNDS", "1"))
LONG = "x" * 150_000
"""More than HAProxy's tune.bufsize, which it resends only if no connection was made."""


@pytest.fixture(scope="module")
def balanced() -> Iterator[Balanced]:
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def trainers() -> Iterator[list[Asked]]:
    """Each in a process of its own; those that are not installed are left out."""
    processes = [Asked(name) for name in IMPATIENT]
    try:
        told = [process.hear() for process in processes]
        there = [process for process, said in zip(processes, told, strict=True) if "skipped" not in said]
        assert all("ready" in process.hear() for process in there)
        yield there
    finally:
        for process in processes:
            process.end()


class Asking:
    """Every trainer asks for one reward after another until the end of the `with`. `wrong` has what differs."""

    def __init__(self, url: str, trainers: list[Asked], share_of_long: int) -> None:
        self.asked = dict.fromkeys((trainer.name for trainer in trainers), 0)
        self.wrong: list[Any] = []
        self._url = url
        self._share_of_long = share_of_long
        self._trainers = trainers
        self._serial = itertools.count(1)
        self._over = Event()

    def _ask(self, trainer: Asked) -> None:
        while not self._over.is_set():
            at = next(self._serial)
            # Equal requests would share one answer.
            number = at / 100_000
            is_long = self._share_of_long > 0 and at % self._share_of_long == 0
            said = f"{number} {LONG if is_long else ''}"
            found = trainer.ask(url=self._url, reward="stated", truth=ANSWER, said=said, is_short=False)
            self.asked[trainer.name] += 1
            if abs(found.get("value", -1) - number) > 1e-6:
                self.wrong.append((trainer.name, number, found))

    def __enter__(self) -> "Asking":
        self._pool = ThreadPoolExecutor(len(self._trainers))
        self._work = [self._pool.submit(self._ask, trainer) for trainer in self._trainers]
        return self

    def __exit__(self, *_: Any) -> None:
        self._over.set()
        self._pool.shutdown()
        for work in self._work:
            work.result()


def test_a_rolling_restart_costs_no_trainer_a_reward(
    balanced: Balanced, trainers: list[Asked], record_property: Any
) -> None:
    with Asking(balanced.url, trainers, share_of_long=5) as asking:
        for replica in balanced.replicas * ROUNDS:
            before = dict(asking.asked)
            replica.stop()
            replica.start()
            replica.wait()
            # HAProxy needs one before the other may go.
            balanced.wait_for(replica)
            assert all(asking.asked[name] > before[name] for name in before), "the other replica scores meanwhile"
    assert asking.wrong == []
    record_property("rewards over a rolling restart", asking.asked)


def test_a_replica_that_is_killed_costs_no_trainer_a_reward(
    balanced: Balanced, trainers: list[Asked], record_property: Any
) -> None:
    """Of requests that fit into HAProxy's buffer: a longer one that was on the replica is lost with it."""
    with Asking(balanced.url, trainers, share_of_long=0) as asking:
        for replica in balanced.replicas * ROUNDS:
            replica.kill()
            replica.start()
            replica.wait()
            balanced.wait_for(replica)
    assert asking.wrong == []
    record_property("rewards over two replicas killed", asking.asked)
