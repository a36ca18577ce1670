"""One rollout through each trainer's own reward code: an answer, with or without the ground truth. A function
returns what the trainer would train with, as its code has it. One trainer a process, because some need stand-ins for
modules of others."""

import asyncio
import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from published import absent, empty, published

QUESTION, ANSWER = "2+2?", "4"
PROMPT = [{"role": "user", "content": QUESTION}]
Call = Callable[[str, str, str | None, str], Any]
"""Takes the gateway's address, the reward, the ground truth and the policy's answer."""


@dataclass(frozen=True)
class Caller:
    """`package` is of PyPI; `clone` is a repository, for trainers that are no package."""

    open: Callable[[], Call]
    stand_ins: str
    """What of the trainer does not run here. Not what only its other parts import."""
    package: str = ""
    clone: str = ""


def turn(said: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": said}]


def environment(url: str, reward: str) -> None:
    os.environ["REWARD_GATEWAY_URL"], os.environ["REWARD_GATEWAY_REWARD"] = url, reward


def ended(work: Any) -> Any:
    """Runs in a loop of its own and closes the adapters' clients of that loop."""
    from reward_gateway_client import shared

    async def whole() -> Any:
        try:
            return await work
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())


def openrlhf() -> Call:
    from test_openrlhf import rewarded

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        found = rewarded(url, said, truth or "", reward)["reward"]
        return found and found[0]

    return call


def slime() -> Call:
    from test_slime import opened

    return opened("slime")


def miles() -> Call:
    from test_slime import opened

    return opened("miles")


def slime_client() -> Call:
    from test_slime import FUNCTION, opened

    rewarded = opened("slime")

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        environment(url, reward)
        return rewarded(url, reward, truth, said, FUNCTION)

    return call


def llama_factory() -> Call:
    from test_llama_factory import asked

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        # It sends no ground truth. The gateway looks it up by the question.
        question = {ANSWER: QUESTION, None: "9+9?"}.get(truth, "3+3?")
        return asked(url, reward, (question, said))[0]

    return call


def axolotl() -> Call:
    absent("axolotl_contribs_lgpl", "axolotl_contribs_mit", "addict")
    empty("axolotl.utils.logging")
    sys.modules["axolotl.utils.logging"].get_logger = __import__("logging").getLogger  # type: ignore[attr-defined]
    rewards = published("axolotl.integrations.nemo_gym.rewards", "axolotl.integrations.nemo_gym")

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        verify = {"math": f"{url}/wire/axolotl/{reward}/verify"}
        function = rewards.create_nemo_gym_reward_fn({}, verify)
        extra = {"expected_answer": truth}
        refs = [{"name": "math"}]
        return float(function([turn(said)], prompts=[PROMPT], resources_server_ref=refs, verify_extra=[extra])[0])

    return call


def nemo_gym() -> Call:
    absent("pydot", "gprof2dot", "yappi", "wandb", "mlflow", "git")
    from fastapi.testclient import TestClient

    client = importlib.import_module("reward_gateway_client.nemo_gym")

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        place = {"name": "gateway", "host": "127.0.0.1", "port": 1, "entrypoint": "app.py", "domain": "other"}
        config = client.RewardGatewayConfig(**place, gateway_url=url, reward=reward)
        app = client.RewardGatewayServer.model_construct(config=config).setup_webserver()
        part = {"type": "output_text", "text": said, "annotations": []}
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}]
        response = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": output}
        response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        row = {"responses_create_params": {"input": PROMPT}, "response": response, "expected_answer": truth}
        answer = TestClient(app).post("/verify", json=row)
        if answer.status_code != 200:
            return f"status {answer.status_code}"
        found = answer.json()
        return f"masked, `{found['_ng_failure_class']}`" if found["mask_sample"] else found["reward"]

    return call


def open_instruct() -> Call:
    from test_open_instruct import opened, score

    verifiers = opened()

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        # It sends no prompt. Only the label can carry the question of a judge.
        label = {"ground_truth": truth, "rm_prompt": QUESTION} if truth else None
        return score(verifiers, f"{url}/wire/open-instruct/{reward}", said, label)

    return call


def _eval_protocol() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    module = importlib.import_module("eval_protocol.reward_function")
    return lambda url, reward: module.RewardFunction(
        mode="remote", endpoint=f"{url}/wire/eval-protocol/{reward}", name="r"
    )


def eval_protocol() -> Call:
    function = _eval_protocol()
    return lambda url, reward, truth, said: (
        function(url, reward)(messages=[*PROMPT, *turn(said)], ground_truth=truth).score
    )


def eval_protocol_trl() -> Call:
    function = _eval_protocol()
    return lambda url, reward, truth, said: function(url, reward).get_trl_adapter()([PROMPT], [said], solution=[truth])[
        0
    ]


def ms_swift() -> Call:
    import torch

    grpo = importlib.import_module("swift.rl_core.grpo_algorithm")

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        environment(url, reward)
        gateway = importlib.import_module("reward_gateway_client.swift").Gateway
        row = {"messages": [*PROMPT, *turn(said)], **({"solution": truth} if truth else {})}
        scored = grpo.score_completions(
            [grpo.GRPOSample.from_row(row)], [gateway()], [None], False, torch.device("cpu")
        )
        found = scored[0] if isinstance(scored, tuple) else scored
        return float(found[0][0])

    return call


def easyr1() -> Call:
    from reward_gateway_client.easyr1 import carrying_prompt

    from test_easyr1 import opened

    rewarded = opened()

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        # It sends no prompt. Only the ground truth can carry one.
        label = carrying_prompt(truth, PROMPT) if truth else None
        return rewarded(url, reward, [{"problem": QUESTION, "answer": label}], [[said]])[0]

    return call


def areal() -> Call:
    import areal.workflow.rlvr as rlvr

    from test_areal import reward as rewarded

    rlvr.ModelRequest = lambda **fields: SimpleNamespace(**fields)  # type: ignore[assignment]

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        environment(url, reward)
        return ended(rewarded(said, truth))

    return call


def verifiers() -> Call:
    absent("prime_sandboxes", "prime_tunnel", "prime_runs", "connectrpc")
    types = importlib.import_module("verifiers.v1.types")
    task = importlib.import_module("verifiers.v1.task")
    trace = importlib.import_module("verifiers.v1.trace")
    node = importlib.import_module("verifiers.v1.graph").MessageNode

    class Data(task.TaskData):
        answer: str | None = None

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        environment(url, reward)
        rewards = {"gateway": {"fn": "reward_gateway_client.verifiers:score"}}
        solved = task.Task(Data(prompt=QUESTION, answer=truth), task.TaskConfig.model_validate({"rewards": rewards}))
        asked = node(parent=None, message=types.UserMessage(content=QUESTION), sampled=False)
        told = node(parent=0, message=types.AssistantMessage(content=said), sampled=True)
        empties = {"rewards": {}, "metrics": {}, "calls": [], "mm_token_type_id_map": {}}
        found = trace.Trace.model_construct(
            task=trace.TraceTask.model_construct(type="Task", data=solved.data),
            nodes=[asked, told],
            root_reply=None,
            stop_condition=None,
            **empties,
        )
        ended(solved.score(found))
        return found.rewards["gateway"].score

    return call


def _verl(settings: str) -> Call:
    import ray

    import test_verl
    import tiny

    folder = tiny.saved(Path(tempfile.mkdtemp()))

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        # The actors of a reward loop have names of their own only in a cluster of their own.
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            loop = test_verl.reward_loop(getattr(test_verl, settings), url, folder, reward)
            scored = loop.compute_rm_score(test_verl.rollouts([said], truth))
            return float(scored.batch["rm_scores"].sum())
        finally:
            ray.shutdown()

    return call


def verl() -> Call:
    return _verl("FUNCTION")


def verl_manager() -> Call:
    return _verl("MANAGER")


def trl() -> Call:
    from test_trl import rewards

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        return rewards(Path(tempfile.mkdtemp()), url, [said, said], truth, reward=reward)[0][0].item()

    return call


def skyrl() -> Call:
    from test_skyrl import stepped

    return lambda url, reward, truth, said: stepped(url, said, truth, reward)[0]["reward"]


def rllm() -> Call:
    from test_rllm import rewarded

    return lambda url, reward, truth, said: rewarded(url, reward, said, truth)


def tinker() -> Call:
    from test_tinker import rewarded

    return lambda url, reward, truth, said: rewarded(url, reward, said, truth)


def ray_data() -> Call:
    import ray
    from reward_gateway_client.ray import score_dataset

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)

    def call(url: str, reward: str, truth: str | None, said: str) -> Any:
        rows = [{"prompt": QUESTION, "response": said, **({"answer": truth} if truth else {})}]
        (row,) = score_dataset(ray.data.from_items(rows), url, reward, concurrency=1).take_all()
        return row["reward"] if row["valid"] else f"null, `{row['failure_kind']}`"

    return call


CALLERS = {
    "AReaL, `GatewayRLVRWorkflow`": Caller(areal, "engine, tokenizer, request class", "areal"),
    "axolotl, NeMo Gym plug-in": Caller(axolotl, "head server, logger", "axolotl"),
    "EasyR1": Caller(easyr1, "none", clone="EasyR1"),
    "eval-protocol, call": Caller(eval_protocol, "none", "eval-protocol"),
    "eval-protocol, `get_trl_adapter`": Caller(eval_protocol_trl, "none", "eval-protocol"),
    "LLaMA-Factory": Caller(llama_factory, "none", "llamafactory"),
    "miles, `remote_rm`": Caller(miles, "none", clone="miles"),
    "ms-swift": Caller(ms_swift, "none", "ms-swift"),
    "NeMo Gym": Caller(nemo_gym, "HTTP server (in process)", "nemo-gym"),
    "Open-Instruct": Caller(open_instruct, "other verifiers", clone="open-instruct"),
    "OpenRLHF": Caller(openrlhf, "engine", "openrlhf"),
    "Ray Data": Caller(ray_data, "none", "ray"),
    "rLLM": Caller(rllm, "flow, traces of the policy", clone="rllm"),
    "SkyRL": Caller(skyrl, "none", "skyrl-gym"),
    "slime, `remote_rm`": Caller(slime, "none", clone="slime"),
    "slime, `reward_gateway_client.slime.reward`": Caller(slime_client, "none", clone="slime"),
    "Tinker cookbook": Caller(tinker, "policy", "tinker-cookbook"),
    "TRL": Caller(trl, "none", "trl"),
    "verifiers": Caller(verifiers, "policy (a finished trace)", "verifiers"),
    "verl, function": Caller(verl, "none", "verl"),
    "verl, manager": Caller(verl_manager, "none", "verl"),
}
