"""The blocks of docs/trainers, as the trainer's own code reads them. Tinker's block is in test_tinker.py."""

import asyncio
import importlib
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from callers import PROMPT, ended
from published import absent, cloned, empty, published
from served import ROOT, Served

PAGES = ROOT / "docs/trainers"
GATEWAY = "http://gateway:8080"


def blocks(page: str, kind: str) -> list[str]:
    """`kind`: what stands behind the fence; the indented blocks have none."""
    text = (PAGES / f"{page}.md").read_text()
    if kind:
        return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)
    return [re.sub("^ {4}", "", found, flags=re.M) for found in re.findall(r"(?:^ {4}.*\n)+", text, re.M)]


def executed(page: str, at: int = 0, url: str = GATEWAY, reward: str = "gsm8k") -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "page"}
    exec(blocks(page, "python")[at].replace(GATEWAY, url).replace("gsm8k", reward), names)
    return names


def test_every_block_is_of_a_kind_that_is_run_here_or_elsewhere() -> None:
    kinds = {kind for page in PAGES.glob("*.md") for kind in re.findall(r"^```(\w+)$", page.read_text(), re.M)}
    assert kinds == {"python", "sh", "text", "toml", "yaml"}


@pytest.mark.parametrize("at", [0, 1], ids=["function", "manager"])
def test_verl_reads_its_settings(at: int, tokenizer_folder: Path) -> None:
    from hydra import compose, initialize_config_module

    command = blocks("verl", "sh")[at].replace("\\\n", " ").split()
    assert command[:3] == ["python3", "-m", "verl.trainer.main_ppo"]
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", [f"actor_rollout_ref.model.path={tokenizer_folder}", *command[3:]])
    kept = config.reward.reward_kwargs if at else config.reward.custom_reward_function.reward_kwargs
    assert (kept.url, kept.reward) == (GATEWAY, "gsm8k")
    test_verl = importlib.import_module("test_verl")
    settings = [*test_verl.FUNCTION, *test_verl.MANAGER]
    assert all(any(one.startswith(given.partition("=")[0] + "=") for one in settings) for given in command[3:])


def test_verl_finds_the_tool_agent() -> None:
    (agent,) = yaml.safe_load(blocks("verl", "yaml")[0])
    module, _, name = agent["_target_"].rpartition(".")
    assert agent["name"] == "tool_agent"
    assert getattr(importlib.import_module(module), name)


def test_trl_takes_a_function_for_each_name() -> None:
    functions = executed("trl")["reward_funcs"]
    assert [function.__name__ for function in functions] == ["format", "quality"]
    beside = executed("trl", 1)["reward_funcs"]
    assert [function.__name__ for function in beside] == ["format", "quality", "brevity"]


def test_ms_swift_calls_the_function_of_its_plug_in(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")
    executed("ms-swift")
    assert "--reward_funcs gateway" in "".join(blocks("ms-swift", ""))
    function = importlib.import_module("swift.rewards").orms["gateway"]()
    grpo = importlib.import_module("swift.rl_core.grpo_algorithm")
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    samples = [grpo.GRPOSample.from_row({"messages": turns, "solution": truth}) for truth in ("4", "5")]
    # In server mode with several turns, ms-swift passes its trajectories by request.
    more = {"trajectory_inputs": {"a": [{"messages": turns}], "b": [{"messages": turns}]}}
    given = grpo.score_completions(samples, [function], [None], False, torch.device("cpu"), extra_reward_kwargs=more)
    scored = given[0] if isinstance(given, tuple) else given
    assert scored.flatten().tolist() == [1, 0]


def test_nemo_gym_serves_its_protocol(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info < (3, 12):
        pytest.skip("NeMo Gym needs Python 3.12")
    absent("pydot", "gprof2dot", "yappi", "wandb", "mlflow", "git")
    server = executed("nemo-gym")["RewardGatewayServer"]
    from fastapi.testclient import TestClient

    ((name, outer),) = yaml.safe_load(blocks("nemo-gym", "yaml")[0]).items()
    config_type = server.model_fields["config"].annotation
    place = {"name": name, "host": "127.0.0.1", "port": 1}

    def asking(**more: Any) -> Any:
        config = config_type(**{**place, **outer["resources_servers"][name], "gateway_url": gateway.url, **more})
        return TestClient(server.model_construct(config=config).setup_webserver())

    part = {"type": "output_text", "text": "4", "annotations": []}
    output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}]
    response = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": output}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    row = {"responses_create_params": {"input": [{"role": "user", "content": "2+2?"}]}, "response": response}
    alone = asking(reward="answer")
    good = alone.post("/verify", json={**row, "expected_answer": "4"}).json()
    assert (good["reward"], good["mask_sample"]) == (1, False)
    bad = asking(reward="letter").post("/verify", json={**row, "expected_answer": "no letter"}).json()
    assert (bad["mask_sample"], bad["_ng_failure_terminal"]) == (True, True)
    # It draws histograms with W&B, which is absent.
    monkeypatch.setattr(importlib.import_module("nemo_gym.reward_profile"), "Histogram", lambda _: None)
    rows = [{**one, "_ng_task_index": 0, "_ng_rollout_index": at} for at, one in enumerate((good, bad))]
    figures = alone.post("/aggregate_metrics", json={"verify_responses": rows}).json()
    assert figures["agent_metrics"]["mean/reward"] == 1, "a masked row is no 0"
    refused = asking(reward="answer", group_size=4).post("/verify", json=row)
    assert refused.status_code == 400
    assert "_ng_rollout_index" in refused.text


def test_skyrl_makes_the_environment() -> None:
    # test_skyrl.py registers it too.
    importlib.import_module("skyrl_gym.envs.registration").registry.pop("reward-gateway", None)
    skyrl_gym = executed("skyrl")["skyrl_gym"]
    assert type(skyrl_gym.make("reward-gateway", env_config={"reward": "r"})).__name__ == "RewardGatewayEnv"


def test_areal_finds_the_workflow() -> None:
    imported = importlib.import_module("areal.utils.dynamic_import").import_from_string(executed("areal")["workflow"])
    assert imported.__name__ == "GatewayRLVRWorkflow"


def test_llama_factory_reads_its_config() -> None:
    given = yaml.safe_load(blocks("llama-factory", "yaml")[0])
    arguments = published("llamafactory.hparams.finetuning_args", "llamafactory.hparams").FinetuningArguments(**given)
    assert (arguments.stage, arguments.reward_model_type) == ("ppo", "api")


def test_axolotl_loads_a_function_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.version_info < (3, 12):
        pytest.skip("axolotl needs Python 3.12")
    absent("axolotl_contribs_lgpl", "axolotl_contribs_mit", "addict")
    (tmp_path / "rewards.py").write_text(blocks("axolotl", "python")[0])
    monkeypatch.syspath_prepend(tmp_path)
    (name,) = yaml.safe_load(blocks("axolotl", "yaml")[0])["trl"]["reward_funcs"]
    strategy = importlib.import_module("axolotl.core.trainers.grpo").GRPOStrategy
    assert strategy.get_reward_func(name) is sys.modules["rewards"].math


def test_axolotl_reads_its_config() -> None:
    if sys.version_info < (3, 12):
        pytest.skip("axolotl needs Python 3.12")
    absent("axolotl_contribs_lgpl", "axolotl_contribs_mit", "addict")
    empty("axolotl.utils.logging")
    sys.modules["axolotl.utils.logging"].get_logger = __import__("logging").getLogger  # type: ignore[attr-defined]
    arguments = published("axolotl.integrations.nemo_gym.args", "axolotl.integrations.nemo_gym").NemoGymArgs
    given = yaml.safe_load(blocks("axolotl", "yaml")[1])
    assert given.pop("plugins") == ["axolotl.integrations.nemo_gym.NemoGymPlugin"]
    assert set(given) <= set(arguments.model_fields)
    assert arguments(**given).nemo_gym_auto_start is False


def test_easyr1_loads_the_function(tmp_path: Path) -> None:
    names = executed("easyr1")
    assert callable(names["compute_score"])
    assert (names["REWARD_NAME"], names["REWARD_TYPE"]) == ("gateway", "batch")


def test_rllm_loads_the_verifier() -> None:
    cloned("rllm")
    load = importlib.import_module("rllm.eval").load_evaluator
    (path,) = re.findall(r'^\[verifier\]\nimport_path = "(.*)"$', blocks("rllm", "toml")[0], re.M)
    assert load(path)


def test_eval_protocol_scores_at_its_address(gateway: Served) -> None:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    reward = executed("eval-protocol", url=gateway.url, reward="answer")["reward"]
    turns = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    assert reward(messages=turns, ground_truth="4").score == 1
    assert reward(messages=turns, ground_truth="5").score == 0
    # The client sends the prompt in place of a ground truth. The gateway looks it up instead.
    assert reward(messages=turns).score == 1


def test_ray_data_scores_a_folder(gateway: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import ray

    monkeypatch.chdir(tmp_path)
    (tmp_path / "rollouts").mkdir()
    pq.write_table(
        pa.table({"prompt": ["2+2?"], "answer": ["4"], "ground_truth": ["4"]}), tmp_path / "rollouts/0.parquet"
    )
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    try:
        executed("ray-data", url=gateway.url, reward="answer")
        assert pq.read_table(tmp_path / "scored")["reward"].to_pylist() == [1]
    finally:
        ray.shutdown()


def option(page: str, name: str) -> str:
    (value, *_) = re.findall(rf"{re.escape(name)} (\S+)", "".join(blocks(page, "text")))
    return value


def test_openrlhf_asks_its_address(gateway: Served) -> None:
    test_openrlhf = importlib.import_module("test_openrlhf")
    address = option("openrlhf", "--reward.remote_url")
    assert address == f"{GATEWAY}/wire/openrlhf/gsm8k"
    executor = test_openrlhf.agent.SingleTurnAgentExecutor(
        [address.replace(GATEWAY, gateway.url).replace("gsm8k", "answer")]
    )
    sampling = SimpleNamespace(max_tokens=64, logprobs=None)
    tokens, prompt, engine = test_openrlhf.tokens, test_openrlhf.prompt, test_openrlhf.Engine("4")
    output = asyncio.run(executor.execute(prompt, "4", sampling, 256, tokens, engine))
    assert output["reward"] == [1]


@pytest.mark.parametrize("name", ["slime", "miles"])
@pytest.mark.parametrize("setting", ["--rm-url", "--custom-rm-path"])
def test_slime_and_miles_ask_as_set(name: str, setting: str, gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned(name)
    absent("sglang", "megatron")
    rm_hub = importlib.import_module(f"{name}.rollout.rm_hub")
    sample_type = importlib.import_module(f"{name}.utils.types").Sample
    value = option(name, setting).replace(GATEWAY, gateway.url).replace("gsm8k", "answer")
    args = SimpleNamespace(rm_url=None, rm_type="remote_rm", custom_rm_path=None)
    setattr(args, setting[2:].replace("-", "_"), value)
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")

    async def reward() -> Any:
        try:
            return await rm_hub.async_rm(args, sample_type(prompt=PROMPT, response="4", label="4"))
        finally:
            session = getattr(rm_hub, "_shared_session", None)
            if session:
                await session.close()

    assert ended(reward()) == 1


def test_verifiers_takes_the_function() -> None:
    absent("prime_sandboxes", "prime_tunnel", "prime_runs", "connectrpc")
    config = importlib.import_module("verifiers.v1.task").TaskConfig
    path = option("verifiers", "--env.taskset.task.rewards.gateway.fn")
    assert config.model_validate({"rewards": {"gateway": {"fn": path}}}).rewards["gateway"].fn == path
    module, _, name = path.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_open_instruct_asks_its_address() -> None:
    """test_open_instruct.py scores there."""
    assert option("open-instruct", "--code_api_url") == f"{GATEWAY}/wire/open-instruct/code/test_program"
