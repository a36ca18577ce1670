"""A real run: TRL's GRPOTrainer trains a tiny model on rewards that come over HTTP, and the gateway restarts midway."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, variance

import pytest
import torch
from datasets import Dataset
from reward_gateway_client.trl import gateway_rewards
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import tiny
from served import Served

STEPS = 30
BATCH = 32
WANTED = "e"


@dataclass
class Counted:
    """What the gateway says that it scored, over all its starts."""

    total: float = 0
    samples: float = 0
    invalid: float = 0

    def add(self, gateway: Served) -> None:
        self.total += gateway.metric("term_score_sum", reward="letter", step="letter")
        self.samples += gateway.metric("samples_total", reward="letter", valid="true")
        self.invalid += gateway.metric("samples_total", reward="letter", valid="false")


class RestartAt(TrainerCallback):
    """Stops the gateway after a step and lets it come up while the trainer already asks for the next rewards."""

    def __init__(self, step: int, gateway: Served, counted: Counted) -> None:
        self.step, self.gateway, self.counted = step, gateway, counted

    def on_step_end(self, args, state, control, **kwargs) -> None:
        if state.global_step == self.step:
            self.counted.add(self.gateway)
            self.gateway.stop()
            self.gateway.start()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_reward_rises_though_the_gateway_restarts(
    seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    torch.set_num_threads(1)
    gateway, counted = Served(), Counted()
    tokens = tiny.tokenizer(tiny.LETTERS)
    trainer = GRPOTrainer(
        model=tiny.model(len(tokens), seed),
        processing_class=tokens,
        reward_funcs=gateway_rewards(gateway.url, ["reward"], reward="letter"),
        train_dataset=Dataset.from_list([{"prompt": letter, "ground_truth": WANTED} for letter in tiny.LETTERS]),
        callbacks=[RestartAt(STEPS // 2, gateway, counted)],
        args=GRPOConfig(
            output_dir=str(tmp_path),
            seed=seed,
            max_steps=STEPS,
            per_device_train_batch_size=BATCH,
            num_generations=8,
            max_completion_length=16,
            learning_rate=3e-3,
            lr_scheduler_type="constant",
            beta=0.0,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            dataloader_num_workers=0,
        ),
    )
    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train()
        counted.add(gateway)
    finally:
        gateway.stop()
    rewards = [row["rewards/reward/mean"] for row in trainer.state.log_history if "rewards/reward/mean" in row]
    first, last = rewards[:5], rewards[-5:]
    error = ((variance(first) + variance(last)) / 5) ** 0.5
    record_property(
        f"seed {seed}",
        f"mean reward of the first 5 steps {mean(first):.3f}, of the last 5 {mean(last):.3f}, "
        f"standard error {error:.3f}; of all steps: trainer {mean(rewards):.6f}, "
        f"gateway {counted.total / counted.samples:.6f}",
    )
    assert len(rewards) == STEPS
    assert mean(last) - mean(first) > 3 * error
    assert (gateway.starts, counted.samples, counted.invalid) == (2, STEPS * BATCH, 0)
    assert counted.total / counted.samples == pytest.approx(mean(rewards), abs=1e-5)
