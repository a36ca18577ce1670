"""Tinker's cookbook rolls a group out, with a policy that says what it is told."""

import asyncio
from typing import Any

import pytest
from reward_gateway_client import Unscorable, shared
from reward_gateway_client.tinker import GatewayGroupBuilder
from tinker_cookbook.completers import TokensWithLogprobs
from tinker_cookbook.renderers.role_colon import RoleColonRenderer
from tinker_cookbook.rl.rollout_strategy import MinViableGroup
from tinker_cookbook.rl.rollouts import do_group_rollout

import tiny
from losing import Losing
from served import ROOT, Served

tokens = tiny.tokenizer()


class Policy:
    def __init__(self, answers: list[str]) -> None:
        self.answers = list(answers)

    async def __call__(self, model_input: Any, stop: Any, **_: Any) -> TokensWithLogprobs:
        ids = tokens(f" {self.answers.pop(0)}\n\nUser:")["input_ids"]
        return TokensWithLogprobs(tokens=ids, maybe_logprobs=[0.0] * len(ids))


def group(answers: list[str], label: str | None, **options: Any) -> Any:
    row = {"answer": label} if label else {}
    prompt = [{"role": "user", "content": "2+2?"}]
    builder = GatewayGroupBuilder(RoleColonRenderer(tokens), prompt, row, group_size=len(answers))
    return rolled_out(builder, answers, **options)


def rolled_out(builder: GatewayGroupBuilder, answers: list[str], **options: Any) -> Any:
    async def whole() -> Any:
        try:
            return await do_group_rollout(builder, Policy(answers), **options)
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())


def rewarded(url: str, reward: str, answer: str, label: str | None) -> float:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWARD_GATEWAY_URL", url)
        patch.setenv("REWARD_GATEWAY_REWARD", reward)
        return float(group([answer], label).get_total_rewards()[0])


def test_good_slow_and_invalid_answers(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")
    found = group(["4", "5", "slow"], "4")
    assert found.get_total_rewards() == [1, 0, 0.5]
    assert [one.transitions[-1].metrics["answer"] for one in found.trajectories_G] == [1, 0, 0.5]
    with pytest.raises(Unscorable):
        group(["4", "throw"], "4")
    left = group(["4", "throw"], "4", strategy=MinViableGroup(min_successful=1, max_retries=0))
    assert left.get_total_rewards() == [1]


def test_the_data_set_of_the_page_is_scored(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")
    page = (ROOT / "docs/trainers/tinker.md").read_text()
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    rows = [{"problem": "2+2?", "answer": truth, "source": "sums"} for truth in ("4", "5", "6")]
    problems = names["Problems"](RoleColonRenderer(tokens), rows, 2)
    first, second = problems.get_batch(0)
    assert (len(problems), first.group_size) == (1, 8)
    assert rolled_out(first, ["4"] * 8).get_total_rewards() == [1] * 8
    assert rolled_out(second, ["4"] * 8).get_total_rewards() == [0] * 8


def test_a_retry_gets_the_answer(gateway: Served, losing: Losing) -> None:
    assert rewarded(losing.url, "answer", "12", "12") == 1
    assert list(losing.tries.values()) == [3]
