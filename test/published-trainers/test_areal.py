"""AReaL's own workflow, with an engine that says what it is told: its pool and its limit of 15 s are not in the way."""

import asyncio
from types import SimpleNamespace
from typing import Any

import areal.workflow.rlvr as rlvr
import pytest
from reward_gateway_client import Unscorable
from reward_gateway_client.areal_workflow import GatewayRLVRWorkflow

import balanced
from losing import Losing
from recording import Recorder
from served import HERE, Served


class Tokenizer:
    """Tokens are characters."""

    eos_token_id = pad_token_id = 0

    def decode(self, ids: list[int]) -> str:
        return "".join(map(chr, ids))


class Settings:
    def new_with_stop_and_pad_token_ids(self, _: Any) -> "Settings":
        return self

    def new(self, **_: Any) -> "Settings":
        return self


class Engine:
    def __init__(self, answer: str, stop_reason: str = "stop", versions: tuple[int, int] = (0, 0)) -> None:
        """`versions`: of the policy, of the first token and of all others."""
        self.output = list(map(ord, answer))
        self.stop_reason = stop_reason
        self.versions = versions

    async def agenerate(self, request: Any) -> Any:
        length = len(self.output)
        return SimpleNamespace(
            input_tokens=request.input_ids,
            input_len=len(request.input_ids),
            output_tokens=self.output,
            output_len=length,
            output_logprobs=[0.0] * length,
            output_versions=[self.versions[0]] + [self.versions[1]] * (length - 1),
            stop_reason=self.stop_reason,
        )


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rlvr, "ModelRequest", lambda **fields: SimpleNamespace(**fields))
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")


async def reward(answer: str, label: str | None = "4") -> float:
    return await episode(Engine(f"{answer}<|im_end|>"), label)


async def episode(engine: Engine, label: str | None = "4") -> float:
    workflow = GatewayRLVRWorkflow(gconfig=Settings(), tokenizer=Tokenizer(), get_input_ids_fn=lambda *_: [50, 43, 50])
    data = {"messages": [{"role": "user", "content": "2+2?"}], "answer": label}
    result = await workflow.arun_episode(engine, data)
    return float(result["rewards"][0])


def test_why_a_response_ended_and_its_policy_versions_go_along(monkeypatch: pytest.MonkeyPatch) -> None:
    with Recorder() as recorder:
        monkeypatch.setenv("REWARD_GATEWAY_URL", recorder.url)

        async def both() -> None:
            await asyncio.gather(episode(Engine("4", "length", (6, 7))), episode(Engine("5 ", "abort", (8, 9))))

        asyncio.run(both())
        samples = sorted((one["body"]["samples"][0] for one in recorder.requests), key=lambda one: one["response"])
    assert [sample["status"] for sample in samples] == ["truncated", "aborted"]
    assert [sample["policy_version"] for sample in samples] == [{"first": 6, "last": 6}, {"first": 8, "last": 9}]


def test_good_slow_and_invalid_answers(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)

    async def all_rewards() -> list[float]:
        return await asyncio.gather(*map(reward, ("4", "5", "slow")))

    assert asyncio.run(all_rewards()) == [1, 0, 0.5]
    with pytest.raises(Unscorable):
        asyncio.run(reward("throw"))


def test_a_slow_judge_makes_no_reward_a_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """AReaL's own workflow gives a call 15 s, the wait for one of its few processes included: with 2 s a judge, most of
    these would be 0."""
    with balanced.judge(latency_ms=2000) as address:
        served = Served(HERE / "balanced-configs", {"JUDGE": address})
        monkeypatch.setenv("REWARD_GATEWAY_URL", served.url)
        monkeypatch.setenv("REWARD_GATEWAY_REWARD", "stated")
        numbers = [at / 100 for at in range(64)]

        async def all_rewards() -> list[float]:
            return await asyncio.gather(*(reward(str(number)) for number in numbers))

        try:
            assert asyncio.run(all_rewards()) == pytest.approx(numbers)
        finally:
            served.stop()


def test_a_retry_gets_the_answer(losing: Losing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", losing.url)
    assert asyncio.run(reward("11", label="11")) == 1
    assert list(losing.tries.values()) == [3]
