"""Trainers' own asynchronous code with rewards from the gateway's queue."""

import asyncio
import json
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reward_gateway_client import Run

from published import absent, cloned, empty
from queued import RUN, connections_to, queued

ROWS = 2048
JUDGE_S = 12.0
NOT_INSTALLED = ("sglang", "sglang_router", "pybase64", "megatron", "wandb", "cv2", "qwen_vl_utils")
"""Packages that other parts of slime and miles import."""


def sum_of(index: int) -> tuple[str, str, str, float]:
    """A prompt, an answer that is right for two of three, the truth, and the reward."""
    right = index % 3 != 0
    said = index + 1 if right else index
    return f"What is {index} plus 1?", f"The answer is {said}.", str(index + 1), 1.5 if right else 0.5


class Watch:
    """Kills the gateway with SIGKILL in the middle, and counts the connections of this process to it."""

    def __init__(self, served: Any, rows: int) -> None:
        self._served = served
        self._rows = rows
        self.connections = 0
        self.kills = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        with Run(self._served.url, RUN) as run:
            while not self._is_over.wait(0.2):
                # One connection is this watch's own.
                self.connections = max(self.connections, connections_to(self._served.url) - 1)
                if self.kills == 0 and run.status().unfinished > self._rows * 0.7:
                    self._is_over.wait(JUDGE_S / 4)
                    self._served.kill()
                    self.kills = 1
                    self._served.start()
                    self._served.wait()


def finals_of(url: str) -> list[str]:
    with Run(url, RUN) as run:
        return [final.uid for final in run.finals(follow=False)]


async def slime_generates(args: Any, sample: Any, _: Any) -> Any:
    """`--custom-generate-function-path`: a policy that answers at once."""
    sample.response = sum_of(sample.index)[1]
    sample.response_length, sample.tokens = len(sample.response), [1, *map(ord, sample.response)]
    sample.status = type(sample).Status.COMPLETED
    return sample


def slime_args(tokenizer: Path, **more: Any) -> Namespace:
    settings = {
        "hf_checkpoint": str(tokenizer),
        "sglang_server_concurrency": ROWS,
        "rollout_num_engines": 1,
        "sglang_dp_size": 1,
        "rollout_global_dataset": True,
        "rollout_batch_size": ROWS // 8,
        "n_samples_per_prompt": 8,
        "group_rm": False,
        "partial_rollout": False,
        "custom_rm_path": "reward_gateway_client.slime.reward",
        "custom_generate_function_path": "test_queue.slime_generates",
        "rm_url": None,
        "reward_key": None,
    }
    plain = ("temperature", "top_p", "top_k", "max_response_len", "stop", "stop_token_ids", "skip_special_tokens")
    return Namespace(**{f"rollout_{name}": 1 for name in plain}, rollout_sample_hook_path=None, **settings, **more)


class Buffer:
    """slime's data source: each prompt once."""

    def __init__(self, kind: type[Any], groups: int, each: int) -> None:
        self.left = [[self.sample(kind, group, group * each + k) for k in range(each)] for group in range(groups)]

    @staticmethod
    def sample(kind: type[Any], group: int, index: int) -> Any:
        prompt, _, label, _ = sum_of(index)
        return kind(index=index, group_index=group, prompt=[{"role": "user", "content": prompt}], label=label)

    def get_samples(self, count: int) -> list[Any]:
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def add_samples(self, groups: list[Any]) -> None:
        self.left += groups


def test_slime_has_2048_rows_under_way_over_four_connections_and_a_kill_loses_none(
    tmp_path: Path, tokenizer_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    commit = cloned("slime")
    absent(*NOT_INSTALLED)
    from slime.rollout import fully_async_rollout as slime
    from slime.utils.types import Sample

    with queued(tmp_path, JUDGE_S) as served, Watch(served, ROWS) as watch:
        began = time.monotonic()
        groups = slime.generate_rollout_fully_async(slime_args(tokenizer_folder), 0, Buffer(Sample, ROWS // 8, 8))
        took = time.monotonic() - began
        slime._stop_global_worker()
        finals = finals_of(served.url)
    rewards = {sample.index: sample.reward for group in groups for sample in group}
    assert rewards == {index: sum_of(index)[3] for index in range(ROWS)}
    assert watch.kills == 1
    assert watch.connections <= 4
    assert len(finals) == len(set(finals)) == ROWS
    told = (
        f"{commit}: {ROWS} rows, a judge of {JUDGE_S:g} s, one kill -9: {took:.0f} s, {watch.connections} connections"
    )
    record_property("slime's fully asynchronous rollout", told)


def test_miles_asks_for_rows_and_groups_through_the_queue(tmp_path: Path) -> None:
    cloned("miles")
    absent(*NOT_INSTALLED)
    from miles.rollout.rm_hub import async_rm, batched_async_rm
    from miles.utils.types import Sample

    def made(index: int) -> Any:
        prompt, said, label, _ = sum_of(index)
        return Sample(index=index, prompt=prompt, response=said, label=label, status=Sample.Status.COMPLETED)

    async def all_rewards(args: Any) -> list[Any]:
        rows = await asyncio.gather(*(async_rm(args, made(index)) for index in range(256)))
        return [*rows, *await batched_async_rm(args, [made(index) for index in range(3)])]

    with queued(tmp_path, 1) as served:
        args = Namespace(custom_rm_path="reward_gateway_client.slime.reward", rm_url=None, reward_key=None)
        expected = [sum_of(index)[3] for index in [*range(256), *range(3)]]
        assert asyncio.run(all_rewards(args)) == expected
        assert len(finals_of(served.url)) == 259


def test_the_executor_of_areal_awaits_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import areal.workflow.rlvr as rlvr
    import torch
    from areal.api.cli_args import InferenceEngineConfig
    from areal.infra.workflow_executor import WorkflowExecutor
    from reward_gateway_client.areal_workflow import GatewayRLVRWorkflow

    from test_areal import Engine, Settings, Tokenizer

    rows = 256
    monkeypatch.setattr(rlvr, "ModelRequest", lambda **fields: Namespace(**fields))

    class Policy(Engine):
        """Answers what the last token of the prompt, the index, says; one version for all."""

        def __init__(self) -> None:
            pass

        async def agenerate(self, request: Any) -> Any:
            self.output = list(map(ord, sum_of(request.input_ids[-1])[1]))
            return await Engine(sum_of(request.input_ids[-1])[1]).agenerate(request)

        def get_version(self) -> int:
            return 0

    def row(index: int) -> dict[str, Any]:
        prompt, _, label, _ = sum_of(index)
        return {"messages": [{"role": "user", "content": prompt}], "answer": label, "index": index}

    def ids(data: Any, *_: Any) -> list[int]:
        return [7, int(data[0]["content"].split()[2])]

    with queued(tmp_path, 1) as served:
        config = InferenceEngineConfig(max_concurrent_rollouts=rows, consumer_batch_size=rows, max_head_offpolicyness=4)
        executor = WorkflowExecutor(config, Policy())
        executor.initialize(train_data_parallel_size=1)
        workflow = GatewayRLVRWorkflow(gconfig=Settings(), tokenizer=Tokenizer(), get_input_ids_fn=ids)
        try:
            for index in range(rows):
                executor.submit(row(index), workflow)
            found = executor.wait(rows, timeout=60)
        finally:
            executor.destroy()
        rewards = sorted(float(torch.as_tensor(one["rewards"]).flatten()[0]) for one in found)
        assert rewards == sorted(sum_of(index)[3] for index in range(rows))
        assert len(finals_of(served.url)) == rows


@pytest.mark.parametrize("settings", ["function", "manager"])
def test_the_reward_loop_of_verl_awaits_the_queue(settings: str, tmp_path: Path, tokenizer_folder: Path) -> None:
    """Its worker, asked for each trajectory as an agent loop asks; test_verl.py has the actors of Ray. The function
    gets no prompt for a judge."""
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

    from test_verl import FUNCTION, MANAGER, composed, rollouts

    chosen, reward, least = (FUNCTION, "ruled", 0.0) if settings == "function" else (MANAGER, "judged", 0.5)

    async def scored(url: str) -> list[float]:
        worker = RewardLoopWorker(composed(chosen, url, tokenizer_folder, reward))
        data = rollouts([str(n % 3) for n in range(256)], "1")
        found = await asyncio.gather(*(worker.compute_score(data[n : n + 1]) for n in range(256)))
        return [one["reward_score"] for one in found]

    with queued(tmp_path, 1) as served:
        assert asyncio.run(scored(served.url)) == [least + (n % 3 == 1) for n in range(256)]
        assert len(finals_of(served.url)) == 256


def test_verifiers_traces_are_scored_through_the_queue(tmp_path: Path) -> None:

    absent("prime_sandboxes", "prime_tunnel", "prime_runs", "connectrpc")
    import importlib

    types, task, trace = (importlib.import_module(f"verifiers.v1.{name}") for name in ("types", "task", "trace"))
    node = importlib.import_module("verifiers.v1.graph").MessageNode
    config = task.TaskConfig.model_validate({"rewards": {"gateway": {"fn": "reward_gateway_client.verifiers:score"}}})

    class Data(task.TaskData):
        answer: str

    async def scored(index: int) -> float:
        prompt, said, label, _ = sum_of(index)
        solved = task.Task(Data(prompt=prompt, answer=label), config)
        found = trace.Trace.model_construct(
            task=trace.TraceTask.model_construct(type="Task", data=solved.data),
            nodes=[
                node(parent=None, message=types.UserMessage(content=prompt), sampled=False),
                node(parent=0, message=types.AssistantMessage(content=said), sampled=True),
            ],
            root_reply=None,
            stop_condition=None,
            rewards={},
            metrics={},
            calls=[],
            mm_token_type_id_map={},
        )
        await solved.score(found)
        return float(found.rewards["gateway"].score)

    async def all_scored() -> list[float]:
        return await asyncio.gather(*map(scored, range(256)))

    with queued(tmp_path, 1) as served:
        assert asyncio.run(all_scored()) == [sum_of(index)[3] for index in range(256)]
        assert len(finals_of(served.url)) == 256


@pytest.mark.skipif(sys.version_info < (3, 12), reason="SkyRL needs Python 3.12")
def test_the_asynchronous_trainer_of_skyrl_awaits_the_queue(tmp_path: Path, tokenizer_folder: Path) -> None:
    """Its simulated training, which runs its own loop, generator and environments without a model. The policy is a stub
    that answers at once."""
    cloned("SkyRL")
    absent(
        "vllm",
        "vllm_router",
        "megatron",
        "cloudpathlib",
        "gcsfs",
        "s3fs",
        "wandb",
        "polars",
        "pynvml",
        "jaxtyping",
        "pybase64",
    )
    # It registers a way to send weights with vLLM.
    empty("skyrl.backends.skyrl_train.inference_servers.new_inference_worker_wrap")
    import ray
    import skyrl_gym
    from skyrl.train import fully_async_trainer_sim
    from skyrl.train.config import SkyRLTrainConfig
    from skyrl.train.dataset import PromptDataset
    from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator

    import tiny

    # Its stand-in for the sync of weights lacks what its trainer calls in the end.
    fully_async_trainer_sim._SimDispatch.finalize_pending_saves = lambda *_: None
    skyrl_gym.register(id="queued", entry_point="reward_gateway_client.skyrl:RewardGatewayEnv")
    prompts, each = 64, 4
    tokens = tiny.tokenizer()
    rows = []
    for index in range(prompts):
        prompt, _, label, _ = sum_of(index)
        spec = {"method": "rule", "ground_truth": label}
        rows.append({"prompt": [{"role": "user", "content": prompt}], "env_class": "queued", "reward_spec": spec})
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))

    class Policy:
        model_name = "stub"
        versions = 0

        async def generate(self, asked: Any, model: str | None = None) -> Any:
            text = tokens.decode(asked["prompt_token_ids"][0])
            said = sum_of(int(text.split("What is ")[1].split()[0]))[1]
            ids = tokens(said)["input_ids"] + [tokens.eos_token_id]
            return {
                "responses": [said],
                "response_ids": [ids],
                "stop_reasons": ["stop"],
                "response_logprobs": [[-0.1] * len(ids)],
            }

        async def finish_session(self, _: str) -> None:
            pass

        async def pause_generation(self) -> None:
            pass

        async def resume_generation(self) -> None:
            pass

        def increment_weight_version(self) -> None:
            self.versions += 1

    class Tracker:
        def __init__(self) -> None:
            self.rewards: list[float] = []

        def log(self, figures: dict[str, Any], step: int, commit: bool = False) -> None:
            self.rewards += [value for name, value in figures.items() if name == "reward/avg_raw_reward"]

        def finish(self) -> None:
            pass

    settings = {
        "trainer.fully_async.enabled": "true",
        "trainer.fully_async.simulate_training": "true",
        "trainer.fully_async.simulate_training_step_seconds": "0.1",
        "trainer.fully_async.max_staleness_steps": "3",
        "trainer.fully_async.num_parallel_generation_workers": "32",
        "trainer.train_batch_size": "16",
        "trainer.policy_mini_batch_size": "16",
        "trainer.algorithm.policy_loss_type": "rollout_is",
        "trainer.epochs": "1",
        "trainer.eval_interval": "-1",
        "trainer.ckpt_interval": "-1",
        "trainer.hf_save_interval": "-1",
        "trainer.resume_mode": "none",
        "trainer.placement.colocate_all": "false",
        "trainer.enable_ray_gpu_monitor": "false",
        "generator.inference_engine.enable_ray_prometheus_stats": "false",
        "trainer.policy.model.path": str(tokenizer_folder),
        "generator.n_samples_per_prompt": str(each),
        "generator.batched": "false",
        "data.dataloader.num_workers": "0",
        "environment.skyrl_gym.max_env_workers": str(32 * each),
    }
    config = SkyRLTrainConfig.from_cli_overrides([f"{name}={value}" for name, value in settings.items()])
    tracker, policy = Tracker(), Policy()
    dataset = PromptDataset(str(tmp_path / "rows.jsonl"), tokens, 1000, num_workers=1)
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    with queued(tmp_path, 1) as served:
        trainer = fully_async_trainer_sim.FullyAsyncTrainerSim(
            cfg=config,
            tracker=tracker,
            tokenizer=tokens,
            train_dataset=dataset,
            inference_engine_client=policy,
            generator=SkyRLGymGenerator(config.generator, config.environment.skyrl_gym, policy, tokens),
        )
        asyncio.run(trainer.train())
        finals = finals_of(served.url)
    ray.shutdown()
    assert len(finals) == prompts * each
    assert policy.versions >= prompts // 16
    mean = sum(sum_of(index)[3] for index in range(prompts)) / prompts
    assert sum(tracker.rewards) / len(tracker.rewards) == pytest.approx(mean)
