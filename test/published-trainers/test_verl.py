"""verl's reward loop, with its own config and Ray actors, through the function and through the manager."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch
from hydra import compose, initialize_config_module
from reward_gateway_client import Unscorable
from tensordict import TensorDict
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import RewardLoopManager, RewardLoopWorker

import tiny
from callers import ended
from judging import judged
from losing import Losing
from served import Served

FUNCTION = [
    "reward.custom_reward_function.path=pkg://reward_gateway_client.verl",
    "+reward.custom_reward_function.reward_kwargs.reward={reward}",
    "+reward.custom_reward_function.reward_kwargs.url={url}",
]
MANAGER = [
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.name=RewardGatewayManager",
    "reward.reward_manager.module.path=pkg://reward_gateway_client.verl_manager",
    "+reward.reward_kwargs.reward={reward}",
    "+reward.reward_kwargs.url={url}",
]


@pytest.fixture(scope="module")
def losing(gateway: Served) -> Iterator[Losing]:
    """Every answer gets lost once: each sample of these tests is a retried one."""
    with Losing(gateway.url) as proxy:
        yield proxy


@pytest.fixture(scope="module", params=[FUNCTION, MANAGER], ids=["function", "manager"])
def loop(request: pytest.FixtureRequest, losing: Losing, tokenizer_folder: Path) -> Iterator[RewardLoopManager]:
    losing.tries.clear()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    yield reward_loop(request.param, losing.url, tokenizer_folder)
    ray.shutdown()


def reward_loop(settings: list[str], url: str, tokenizer: Path, reward: str = "answer") -> RewardLoopManager:
    return RewardLoopManager(composed(settings, url, tokenizer, reward))


def composed(settings: list[str], url: str, tokenizer: Path, reward: str) -> Any:
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose(
            "ppo_trainer",
            [
                f"actor_rollout_ref.model.path={tokenizer}",
                "reward.num_workers=2",
                *(setting.format(url=url, reward=reward) for setting in settings),
            ],
        )


def rollouts(answers: list[str], label: str | None = "4", **extra: Any) -> DataProto:
    """As the trainer hands them over: padded tokens, and the row's columns as numpy arrays."""
    tokens = tiny.tokenizer()
    messages = [{"role": "user", "content": "2+2?"}]
    prompt = tokens.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    responses = [tokens(answer + "<|im_end|>")["input_ids"] for answer in answers]
    longest = max(map(len, responses))
    padded = torch.tensor([row + [0] * (longest - len(row)) for row in responses])
    prompts = torch.tensor([prompt] * len(answers))
    seen = torch.tensor([[1] * (len(prompt) + len(row)) + [0] * (longest - len(row)) for row in responses])
    batch = {"prompts": prompts, "responses": padded, "attention_mask": seen}

    def column(value: Any) -> np.ndarray:
        filled = np.empty(len(answers), dtype=object)
        filled[:] = [value] * len(answers)
        return filled

    return DataProto(
        batch=TensorDict(batch, batch_size=len(answers)),
        non_tensor_batch={
            "raw_prompt": column(messages),
            "data_source": column("sums"),
            "reward_model": column({"ground_truth": label, "style": "rule"}),
            "extra_info": column({"index": np.int64(1), "tags": np.array(["a", "b"]), **extra}),
            "uid": column("group-1"),
            "__num_turns__": np.array([2] * len(answers)),
        },
    )


def test_good_slow_and_retried_answers(loop: RewardLoopManager, losing: Losing) -> None:
    answers = ["4", "5", "slow"]
    scored = loop.compute_rm_score(rollouts(answers))
    rewards = [1, 0, 0.5]
    assert scored.batch["rm_scores"].sum(dim=1).tolist() == rewards
    assert scored.batch["rm_scores"].nonzero().tolist() == [[0, len("4")], [2, len("slow")]]
    assert scored.meta_info["reward_extra_keys"] == ["score", "acc", "answer", "answer_scored"]
    assert scored.non_tensor_batch["answer"].tolist() == rewards
    # Two workers pad three rows to four.
    assert (sorted(losing.tries.values()), len(losing.tries)) == ([3, 3, 4], 3)


def test_what_has_no_reward_raises_with_its_reason(loop: RewardLoopManager) -> None:
    with pytest.raises(ray.exceptions.RayTaskError, match="has no reward: rule_error"):
        loop.compute_rm_score(rollouts(["4", "throw"]))


def test_no_judge_is_asked_about_a_row_without_a_question(tokenizer_folder: Path) -> None:
    """Its worker, without the actor around it. verl passes no prompt to a function."""
    with judged() as judging:

        async def score(settings: list[str], data: DataProto) -> float:
            worker = RewardLoopWorker(composed(settings, judging.url, tokenizer_folder, "agreed"))
            return float((await worker.compute_score(data))["reward_score"])

        bare = rollouts(["4"])
        bare.non_tensor_batch.pop("raw_prompt")
        nothing = [(FUNCTION, rollouts(["4"])), (FUNCTION, rollouts(["4"], question="")), (MANAGER, bare)]
        for settings, data in nothing:
            with pytest.raises(Unscorable, match="bad_sample"):
                ended(score(settings, data))
        assert judging.questions == []
        asked = [(FUNCTION, rollouts(["5"], question="3+3?")), (MANAGER, rollouts(["6"]))]
        assert [ended(score(*one)) for one in asked] == [1, 1]
        shown = [{"Question": "3+3?", "Answer": "5"}, {"Question": "2+2?", "Answer": "6"}]
        assert judging.questions == shown
