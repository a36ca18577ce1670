"""TRL's trainer calls the reward functions as it does in training."""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from reward_gateway_client import GatewayUnreachable
from reward_gateway_client.trl import gateway_rewards
from trl import GRPOConfig, GRPOTrainer

import tiny
from losing import Losing
from served import Served


def rewards(
    folder: Path, url: str, answers: list[str], label: str | None = "4", reward: str = "answer", **options: Any
) -> torch.Tensor:
    """What the trainer makes of these answers: a row an answer, a column a function."""
    tokens = tiny.tokenizer()
    prompt = [{"role": "user", "content": "2+2?"}]
    rows = [{"prompt": prompt, "answer": label} for _ in answers]
    trainer = GRPOTrainer(
        model=tiny.model(len(tokens), seed=0),
        processing_class=tokens,
        reward_funcs=gateway_rewards(url, ["reward", "answer"], reward=reward, **options),
        train_dataset=Dataset.from_list(rows),
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=2,
            num_generations=2,
            report_to=[],
            use_cpu=True,
            bf16=False,
        ),
    )
    completions = [[{"role": "assistant", "content": answer}] for answer in answers]
    return trainer._calculate_rewards(rows, [prompt] * len(rows), completions, [[1]] * len(rows))


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
