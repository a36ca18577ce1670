"""slime's and miles' own reward code, of clones: they are not published as packages."""

import asyncio
import importlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from reward_gateway_client import Unscorable

from callers import PROMPT, ended
from judging import Judged, judged
from losing import Losing
from published import absent, cloned
from served import Served

FUNCTION = "reward_gateway_client.slime.reward"

Rewarded = Callable[..., Any]
"""Takes the gateway's address, the reward, the label and the response. `path`: a function instead of `remote_rm`."""


def opened(name: str) -> Rewarded:
    cloned(name)
    absent("sglang", "megatron")
    rm_hub = importlib.import_module(f"{name}.rollout.rm_hub")
    sample_type = importlib.import_module(f"{name}.utils.types").Sample

    def rewarded(
        url: str,
        reward: str,
        label: str | None,
        response: str,
        path: str | None = None,
        prompt: Any = PROMPT,
        query: str = "",
    ) -> Any:
        args = SimpleNamespace(
            rm_url=None if path else f"{url}/wire/slime/{reward}{query}",
            rm_type="remote_rm",
            custom_rm_path=path,
            reward_key=None,
        )

        async def one() -> Any:
            try:
                return await rm_hub.async_rm(args, sample_type(prompt=prompt, response=response, label=label))
            finally:
                session = getattr(rm_hub, "_shared_session", None)
                if session:
                    await session.close()

        return ended(one())

    return rewarded


@pytest.fixture(scope="module", params=["slime", "miles"])
def rewarded(request: pytest.FixtureRequest) -> Rewarded:
    return opened(request.param)


@pytest.fixture(scope="module")
def slime() -> Rewarded:
    return opened("slime")


@pytest.fixture(scope="module")
def judging() -> Iterator[Judged]:
    with judged() as found:
        yield found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """slime pauses for up to 30 s between its ten tries."""
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds, result=None: sleep(min(seconds, 0.01), result))


def test_good_slow_and_invalid_answers_are_numbers(gateway: Served, rewarded: Rewarded) -> None:
    answers = ("4", "5", "slow", "throw", "never")
    assert [rewarded(gateway.url, "answer", "4", answer) for answer in answers] == [1, 0, 0.5, 0, 0]


def test_a_reward_key_asks_for_an_object_that_tells(gateway: Served, rewarded: Rewarded) -> None:
    asked = {"query": "?reward_key=score"}
    good, broken = (rewarded(gateway.url, "answer", "4", answer, **asked) for answer in ("4", "throw"))
    assert (good["score"], good["invalid"]) == (1, 0)
    assert (broken["score"], broken["invalid"]) == (0, 1)


def test_a_retry_repeats_the_answer_and_is_scored_once(
    gateway: Served, losing: Losing, slime: Rewarded, impatient: None
) -> None:
    scored = gateway.metric("samples_total", reward="answer")
    assert slime(losing.url, "answer", "7", "7") == 1
    assert list(losing.tries.values()) == [3]
    assert gateway.metric("samples_total", reward="answer") == scored + 1


@pytest.mark.parametrize("prompt", [None, "", " ", []], ids=["none", "empty", "blank", "no message"])
@pytest.mark.parametrize("path", [None, FUNCTION], ids=["remote_rm", "function"])
def test_no_judge_is_asked_about_a_row_without_a_prompt(
    judging: Judged,
    rewarded: Rewarded,
    path: str | None,
    prompt: Any,
    impatient: None,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", judging.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "agreed")
    judging.questions.clear()
    # The same bytes again would get the kept answer.
    said = request.node.name
    with pytest.raises(Unscorable if path else aiohttp.ClientResponseError, match="bad_sample" if path else "502"):
        rewarded(judging.url, "agreed", "4", said, path, prompt)
    assert judging.questions == []
    assert rewarded(judging.url, "agreed", "4", said, path) == 1
    assert judging.questions == [{"Question": "2+2?", "Answer": said}]
