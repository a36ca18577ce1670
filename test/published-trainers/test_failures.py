"""Every trainer gets the right reward, and none trains with a number that nobody chose where a sample has no reward."""

from collections.abc import Iterator

import pytest

from asking import Asked, asked_about
from callers import CALLERS
from troubles import CASES, Case, Troubles, opened

ZEROES = {"axolotl, NeMo Gym plug-in", "eval-protocol, `get_trl_adapter`", "Open-Instruct"}
"""Their own code takes each error for 0, as docs/trainer-failures.md and `check --trainer` say."""

WITHOUT_PROMPT = {"EasyR1", "Open-Instruct"}
"""Without a ground truth that carries it, they send none."""


@pytest.fixture(scope="module")
def troubles() -> Iterator[Troubles]:
    with opened() as found:
        yield found


@pytest.fixture(params=list(CALLERS))
def asking(request: pytest.FixtureRequest) -> Iterator[Asked]:
    process = Asked(request.param)
    try:
        told = process.hear()
        if "skipped" in told:
            pytest.skip(told["skipped"])
        assert "ready" in process.hear()
        yield process
    finally:
        process.end()


def test_a_failure_is_no_number(asking: Asked, troubles: Troubles) -> None:
    good = Case("")
    assert asked_about(good, asking, troubles)["value"] == 1
    assert asked_about(good, asking, troubles, wrong=True)["value"] == 0
    for case in CASES[:3]:
        found = asked_about(case, asking, troubles)
        value = found.get("value")
        is_number = isinstance(value, (int, float)) and value == value
        assert is_number == (asking.name in ZEROES), (case.title, found)
    if asking.name in WITHOUT_PROMPT:
        before = bad_samples(troubles)
        asked_about(Case("no prompt", reward="away", has_truth=False), asking, troubles)
        assert bad_samples(troubles) == before + 1, "no judge is asked about nothing"


def bad_samples(troubles: Troubles) -> float:
    return troubles.gateway.metric("samples_invalid_total", reward="away", kind="bad_sample")
