"""TRL's trainer calls the reward functions as it does in training."""

import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from reward_gateway_client import GatewayUnreachable
from reward_gateway_client.trl import gateway_rewards
from trl import GRPOConfig, GRPOTrainer

import tiny
from callers import ended
from losing import Losing
from served import Served

PROMPT = [{"role": "user", "content": "2+2?"}]


def own(completions: list[Any], **_: Any) -> list[float]:
    """A reward function of a user's: pays everything."""
    return [1.0] * len(completions)


async def own_and_async(completions: list[Any], **_: Any) -> list[float]:
    return [1.0] * len(completions)


def rewards(
    folder: Path, url: str, answers: list[str], label: str | None = "4", reward: str = "answer", **options: Any
) -> torch.Tensor:
    """What the trainer makes of these answers: a row an answer, a column a function."""
    rows = [{"prompt": PROMPT, "answer": label} for _ in answers]
    functions = gateway_rewards(url, ["reward", "answer"], reward=reward, **options)
    completions = [[{"role": "assistant", "content": answer}] for answer in answers]
    trainer = trainer_of(folder, functions, rows)
    return trainer._calculate_rewards(rows, [PROMPT] * len(rows), completions, [[1]] * len(rows))


def trainer_of(folder: Path, functions: list[Any], rows: list[Any], **settings: Any) -> GRPOTrainer:
    tokens = tiny.tokenizer()
    rollout = settings.pop("rollout_func", None)
    default = {"per_device_train_batch_size": 2, "num_generations": 2}
    return GRPOTrainer(
        model=tiny.model(len(tokens), seed=0),
        processing_class=tokens,
        reward_funcs=functions,
        train_dataset=Dataset.from_list(rows),
        rollout_func=rollout,
        args=GRPOConfig(output_dir=str(folder), report_to=[], use_cpu=True, bf16=False, **{**default, **settings}),
    )


def advantages(folder: Path, functions: list[Any], answers: list[str], **settings: Any) -> list[float]:
    """What the trainer trains with, if its rollouts of one prompt are these answers."""

    def rollout(prompts: list[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        ids = [trainer.processing_class(answer)["input_ids"] for answer in answers]
        return {"prompt_ids": [[1]] * len(ids), "completion_ids": ids, "logprobs": [[0.0] * len(one) for one in ids]}

    rows = [{"prompt": PROMPT, "answer": "4"} for _ in answers]
    sizes = {"per_device_train_batch_size": len(rows), "num_generations": len(rows)}
    trainer = trainer_of(folder, functions, rows, rollout_func=rollout, **sizes, **settings)
    found: list[float] = trainer._generate_and_score_completions(rows)["advantages"].tolist()
    return found


def test_good_slow_and_invalid_answers(gateway: Served, tmp_path: Path) -> None:
    found = rewards(tmp_path, gateway.url, ["4", "5", "slow", "throw"])
    assert found[:3].tolist() == [[1, 1], [0, 0], [0.5, 0.5]]
    assert found[3].isnan().all()


def test_a_retry_gets_the_answer(gateway: Served, losing: Losing, tmp_path: Path) -> None:
    assert rewards(tmp_path, losing.url, ["8", "9"], label="8").tolist() == [[1, 1], [0, 0]]
    assert list(losing.tries.values()) == [3]


def test_a_gateway_that_hangs_ends_the_step_in_time(gateway: Served, tmp_path: Path) -> None:
    with pytest.raises(GatewayUnreachable):
        rewards(tmp_path, gateway.url, ["never", "4"], timeout_s=1)


def test_a_batch_beyond_a_requests_limit_keeps_its_order(gateway: Served, tmp_path: Path) -> None:
    answers = [f"{'x' * 40_000}{at}" if at % 3 else "4" for at in range(512)]
    found = rewards(tmp_path, gateway.url, answers)
    assert found[:, 0].tolist() == [float(answer == "4") for answer in answers]


SUMS = ["sum_then_normalize", "normalize_then_sum"]


@pytest.mark.parametrize("kind", SUMS)
def test_trl_leaves_a_failure_out_of_its_advantages(gateway: Served, tmp_path: Path, kind: str) -> None:
    functions = gateway_rewards(gateway.url, ["reward", "answer"], reward="answer")
    found = advantages(tmp_path, functions, ["4", "5", "throw", "slow"], multi_objective_aggregation=kind)
    assert found[2] == 0
    assert found[0] == pytest.approx(-found[1])
    assert found[0] > 0.9


@pytest.mark.parametrize("kind", SUMS)
def test_a_function_beside_gives_a_failure_no_reward(gateway: Served, tmp_path: Path, kind: str) -> None:
    answers = ["4", "5", "throw", "slow"]
    beside = gateway_rewards(gateway.url, reward="answer", beside=[own, own_and_async])
    assert [function.__name__ for function in beside] == ["reward", "own", "own_and_async"]
    found = advantages(tmp_path, beside, answers, multi_objective_aggregation=kind)
    alone = advantages(
        tmp_path, gateway_rewards(gateway.url, reward="answer"), answers, multi_objective_aggregation=kind
    )
    assert found[2] == alone[2] == 0
    # A constant beside the rewards changes nothing else either.
    assert found == pytest.approx(alone, abs=1e-3)


def test_a_function_that_does_not_know_of_a_failure_is_warned_of(gateway: Served, tmp_path: Path) -> None:
    """TRL adds up what its functions give: it trains the failure with the number of the other function."""
    functions = [*gateway_rewards(gateway.url, reward="answer"), own]
    with pytest.warns(UserWarning, match=r"1 of this batch have no reward, .* with what own gives: .*beside="):
        found = advantages(tmp_path, functions, ["4", "5", "throw", "slow"])
    assert found[2] != 0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".* have no reward")
        rewards(tmp_path, gateway.url, ["4", "throw"], beside=[own])
        advantages(tmp_path, [*gateway_rewards(gateway.url, reward="answer"), own], ["4", "5", "slow", "4"])


def test_the_worker_of_asynchronous_grpo_scores_a_group(gateway: Served) -> None:
    """Its loop runs in a process of its own, to which the worker sends the functions with pickle. vLLM is left out."""
    from trl.experimental.async_grpo import async_rollout_worker as worker

    answers = ["4", "5", "throw", "slow"]
    functions = gateway_rewards(gateway.url, ["reward", "answer"], reward="answer", beside=[own])
    loop = worker._AsyncRolloutLoop.__new__(worker._AsyncRolloutLoop)
    loop.reward_funcs = pickle.loads(pickle.dumps({"reward_funcs": functions}))["reward_funcs"]
    loop.reward_func_names = [worker.get_callable_name(function) for function in loop.reward_funcs]
    assert loop.reward_func_names == ["reward", "answer", "own"]
    loop._env_reward_types, loop._provides_rollout_reward = [], False
    count = len(answers)
    rows = [[worker.TrainingSequence([1, 2], [0, 1], [0.0, 0.0], at)] for at in range(count)]
    group = worker.RolloutGroup(
        prompts=[PROMPT] * count,
        reward_kwargs={"answer": ["4"] * count},
        completions=[[{"role": "assistant", "content": answer}] for answer in answers],
        completions_ids=[[2]] * count,
        completions_sequences=rows,
        tool_call_counts=[0] * count,
        tool_failure_counts=[0] * count,
        model_version=1,
        group_id=1,
        env_rewards=[None] * count,
        rollout_rewards=[None] * count,
    )
    asked = gateway.metric("request_duration_seconds_count", route="/v1/score")
    samples = ended(loop._score_group(group))
    assert gateway.metric("request_duration_seconds_count", route="/v1/score") == asked + 1
    assert [sample.metrics["reward"] for sample in samples] == pytest.approx([3, 1, math.nan, 2], nan_ok=True)
    assert samples[2].advantage == 0
    assert samples[0].advantage == pytest.approx(-samples[1].advantage)
