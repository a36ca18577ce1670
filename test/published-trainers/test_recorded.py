"""The same rollout of a tool call, a result and an answer about an image, as each trainer's own code sends it."""

import asyncio
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from reward_gateway_client import RewardGateway, shared

import tiny
from published import absent, cloned, published
from recording import ANSWER, CALL, PNG, PNG_URL, PROMPT, QUESTION, RESULT, THOUGHT, TURNS, Recorder, picture

SHOWN = [{"type": "image_url", "image_url": {"url": PNG_URL}}, {"type": "text", "text": QUESTION}]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        yield server


@pytest.fixture(autouse=True)
def _settings(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", recorder.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")


def run(work: Any) -> Any:
    async def whole() -> Any:
        try:
            return await work
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())


def test_trl(recorder: Recorder, tmp_path: Path) -> None:
    from datasets import Dataset
    from reward_gateway_client.trl import gateway_rewards
    from trl import GRPOConfig, GRPOTrainer
    from trl.data_utils import prepare_multimodal_messages

    tokens = tiny.tokenizer()
    trainer = GRPOTrainer(
        model=tiny.model(len(tokens), seed=0),
        processing_class=tokens,
        reward_funcs=gateway_rewards(recorder.url, reward="r"),
        train_dataset=Dataset.from_list([{"prompt": PROMPT}] * 2),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            num_generations=2,
            per_device_train_batch_size=2,
            report_to=[],
            use_cpu=True,
            bf16=False,
        ),
    )
    rows = [{"prompt": PROMPT, "images": [picture()], "answer": "red"}]
    prompts = [prepare_multimodal_messages(PROMPT, rows[0]["images"])]
    turns = [
        {"role": "assistant", "tool_calls": [{"type": "function", "function": CALL}]},
        {
            "role": "tool",
            "name": "zoom",
            "content": [{"type": "image", "image": picture()}, {"type": "text", "text": RESULT}],
        },
        TURNS[-1],
    ]
    # What `environment_factory` made: reward functions get its instances beside the columns.
    trainer.environments = [SimpleNamespace(reset=lambda: None)]
    trainer._calculate_rewards(rows, prompts, [turns], [[1]])
    recorder.check("trl", "trl")


@pytest.mark.parametrize("mask", [True, False], ids=["mask", "no mask"])
def test_verl(recorder: Recorder, mask: bool) -> None:
    from reward_gateway_client.verl_manager import RewardGatewayManager
    from tensordict import TensorDict
    from verl import DataProto

    tokens = tiny.tokenizer()
    pieces = [
        (1, f"{THOUGHT}\n<tool_call>{json.dumps(CALL)}</tool_call><|im_end|>"),
        (0, f"\n<|im_start|>user\n<tool_response>{RESULT}</tool_response><|im_end|>\n<|im_start|>assistant\n"),
        (1, f"{ANSWER}<|im_end|>"),
    ]
    ids = [(sampled, tokens(text)["input_ids"]) for sampled, text in pieces]
    response = [token for _, part in ids for token in part]
    batch = {
        "prompts": torch.tensor([tokens(QUESTION)["input_ids"]]),
        "responses": torch.tensor([[*response, 0, 0]]),
        "attention_mask": torch.tensor([[1] * (len(QUESTION) + len(response)) + [0, 0]]),
    }
    if mask:
        batch["response_mask"] = torch.tensor([[sampled for sampled, part in ids for _ in part] + [0, 0]])

    def column(value: Any) -> np.ndarray:
        filled = np.empty(1, dtype=object)
        filled[0] = value
        return filled

    prompt = [{"role": "user", "content": [{"type": "image", "image": picture()}, {"type": "text", "text": QUESTION}]}]
    data = DataProto(
        batch=TensorDict(batch, batch_size=1),
        non_tensor_batch={
            "raw_prompt": column(prompt),
            "data_source": column("colours"),
            "reward_model": column({"ground_truth": "red", "style": "rule"}),
            "extra_info": column({"index": np.int64(1)}),
            "uid": column("group-1"),
            "__num_turns__": np.array([4]),
            "tool_extra_fields": column(
                {"turn_scores": [], "tool_rewards": [], "min_global_steps": 3, "max_global_steps": 4}
            ),
        },
    )

    async def score() -> None:
        manager = RewardGatewayManager(SimpleNamespace(reward={"reward_kwargs": {}}), tokens)
        manager.loop = asyncio.get_running_loop()
        await manager.run_single(data)

    run(score())
    recorder.check("verl" if mask else "verl-without-mask", "verl")
    assert "status" not in recorder.requests[-1]["body"]["samples"][0]
    # As wide as the batch, and without its end token: verl cut it.
    for name in ("responses", "attention_mask", "response_mask"):
        if name in batch:
            data.batch[name] = batch[name][:, :-3]
    run(score())
    assert recorder.requests[-1]["body"]["samples"][0]["status"] == "truncated"


def test_verls_agent_passes_the_mask_on(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = importlib.import_module("reward_gateway_client.verl_agent")
    first, second = picture(), picture()

    async def ran(self: Any, sampling_params: Any, priority: int = 0, **_: Any) -> Any:
        images = {"images": [first, second]}
        return SimpleNamespace(extra_fields={"turn_scores": []}, response_mask=[1, 0, 1], multi_modal_data=images)

    monkeypatch.setattr(agent.ToolAgentLoop, "run", ran)
    looped = agent.RewardGatewayToolAgent.__new__(agent.RewardGatewayToolAgent)
    prompt = [{"role": "user", "content": [{"type": "image", "image": first}]}]
    output = asyncio.run(looped.run({}, raw_prompt=prompt))
    assert output.extra_fields == {"turn_scores": [], "rollout_mask": [1, 0, 1], "rollout_images": [second]}


def test_verifiers(recorder: Recorder) -> None:
    absent("prime_sandboxes", "prime_tunnel", "prime_runs", "connectrpc")
    types = importlib.import_module("verifiers.v1.types")
    task = importlib.import_module("verifiers.v1.task")
    trace = importlib.import_module("verifiers.v1.trace")
    node = importlib.import_module("verifiers.v1.graph").MessageNode
    config = task.TaskConfig.model_validate({"rewards": {"gateway": {"fn": "reward_gateway_client.verifiers:score"}}})

    class Data(task.TaskData):
        answer: str = "red"

    solved = task.Task(Data(prompt=QUESTION), config)
    call = types.ToolCall(id="c1", name="zoom", arguments=json.dumps(CALL["arguments"]))
    messages = [
        types.UserMessage(content=SHOWN),
        types.AssistantMessage(content=None, reasoning_content=THOUGHT, tool_calls=[call]),
        types.ToolMessage(tool_call_id="c1", name="zoom", content=[SHOWN[0], {"type": "text", "text": RESULT}]),
        types.AssistantMessage(content=ANSWER),
    ]
    nodes = [
        node(parent=at - 1 if at else None, message=message, sampled=message.role == "assistant")
        for at, message in enumerate(messages)
    ]
    info = trace.TraceTask.model_construct(type="Task", data=solved.data)
    found = trace.Trace.model_construct(
        task=info,
        nodes=nodes,
        rewards={},
        metrics={},
        calls=[],
        root_reply=None,
        stop_condition=None,
        mm_token_type_id_map={},
    )
    run(solved.score(found))
    assert found.rewards["gateway"].score == 1
    recorder.check("verifiers", "verifiers")


def test_eval_protocol(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module = importlib.import_module("eval_protocol.reward_function")
    function = module.RewardFunction(mode="remote", endpoint=f"{recorder.url}/wire/eval-protocol/r")
    function(messages=[{"role": "user", "content": SHOWN}, *TURNS], ground_truth="red")
    recorder.check("eval-protocol", "eval-protocol")


def test_openrlhf(recorder: Recorder) -> None:
    agent = published("openrlhf.utils.agent", "openrlhf.utils")
    tokens = tiny.tokenizer()
    tokens.add_special_tokens({"additional_special_tokens": ["<|vision_start|>", "<|image_pad|>", "<|vision_end|>"]})
    question = f"<|vision_start|><|image_pad|><|vision_end|>{QUESTION}"
    prompt = tokens.apply_chat_template(
        [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
    )

    class Engine:
        async def generate(self, *_: Any, **__: Any) -> Any:
            ids = tokens(f"{ANSWER}<|im_end|>")["input_ids"]
            output = SimpleNamespace(token_ids=ids, text=ANSWER, finish_reason="stop", logprobs=None)
            return SimpleNamespace(outputs=[output])

    executor = agent.SingleTurnAgentExecutor([f"{recorder.url}/wire/openrlhf/r"])
    sampling = SimpleNamespace(max_tokens=64, logprobs=None)
    asyncio.run(executor.execute(prompt, "red", sampling, 256, tokens, Engine()))
    recorder.check("openrlhf", "openrlhf")


@pytest.mark.parametrize("name", ["slime", "miles"])
def test_slime_and_miles(recorder: Recorder, name: str, tmp_path: Path) -> None:
    edition = cloned(name)
    absent("sglang", "megatron")
    rm_hub = importlib.import_module(f"{name}.rollout.rm_hub")
    sample_type = importlib.import_module(f"{name}.utils.types").Sample
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"text": f"<image>{QUESTION}", "images": [PNG_URL], "label": "red"}))
    data = importlib.import_module(f"{name}.utils.data")
    keys = {"prompt_key": "text", "label_key": "label", "multimodal_keys": {"image": "images"}}
    (row,) = data.Dataset(str(rows), tiny.tokenizer(), None, None, **keys).samples
    # A multi-turn rollout is one text there: what the policy sampled and what the tools said.
    shown = f"<tool_call>{json.dumps(CALL)}</tool_call><tool_response>{RESULT}</tool_response>"
    sample = sample_type(prompt=row.prompt, response=f"{THOUGHT}{shown}{ANSWER}", label=row.label)
    args = SimpleNamespace(rm_url=f"{recorder.url}/wire/slime/r", rm_type="remote_rm", custom_rm_path=None)

    async def score() -> None:
        await rm_hub.async_rm(args, sample)
        session = getattr(rm_hub, "_shared_session", None)
        if session:
            await session.close()

    run(score())
    recorder.check(name, name, edition)


def test_swift(recorder: Recorder, tokenizer_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_TOKENIZER", str(tokenizer_folder))
    scheduler = importlib.import_module("swift.rollout.multi_turn").MultiTurnScheduler
    protocol = importlib.import_module("swift.infer_engine.protocol")
    grpo = importlib.import_module("swift.rl_core.grpo_algorithm")
    gateway = importlib.import_module("reward_gateway_client.swift").Gateway
    said = [f"{THOUGHT}<tool_call>{json.dumps(CALL)}</tool_call>", ANSWER]

    class Engine:
        tokenizer = tiny.tokenizer()

        async def infer_async(self, request: Any, *_: Any, **__: Any) -> Any:
            text = said[sum(message["role"] == "tool" for message in request.messages)]
            message = protocol.ChatMessage(role="assistant", content=text)
            choice = protocol.ChatCompletionResponseChoice(
                index=0,
                message=message,
                finish_reason="stop",
                logprobs=None,
                token_ids=self.tokenizer(text)["input_ids"],
            )
            return protocol.ChatCompletionResponse(model="m", choices=[choice], usage=None)

    class Zoom(scheduler):
        def step(self, request: Any, choice: Any, turn: int) -> Any:
            request.messages.append({"role": "tool", "content": RESULT})
            return {"infer_request": request}

    row = {
        "messages": [{"role": "user", "content": f"<image>{QUESTION}"}],
        "images": [{"bytes": PNG, "path": None}],
        "solution": "red",
    }
    sample = grpo.GRPOSample.from_row(row)
    request = sample.to_infer_request(include_extra=True)
    output = asyncio.run(Zoom(infer_engine=Engine(), max_turns=2).run(request, None))
    sample.apply_rollout_output(rollout_output=output)
    grpo.score_completions([sample], [gateway()], [None], False, torch.device("cpu"))
    recorder.check("ms-swift", "ms-swift")


def test_llama_factory(recorder: Recorder) -> None:
    ppo = published("llamafactory.train.ppo.ppo_utils", "llamafactory.train.ppo")
    template = tiny.tokenizer()
    question = f"<|vision_start|><|image_pad|><|image_pad|><|vision_end|>{QUESTION}"
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": ANSWER}]
    text = template.apply_chat_template(turns, tokenize=False)
    ppo.get_rewards_from_server(f"{recorder.url}/wire/llama-factory/r", [text])
    recorder.check("llama-factory", "llamafactory")


def test_skyrl(recorder: Recorder) -> None:
    import skyrl_gym

    skyrl_gym.register(id="recorded", entry_point="reward_gateway_client.skyrl:RewardGatewayEnv")
    extras = {"reward_spec": {"ground_truth": "red"}, "data_source": "colours", "max_turns": 1}
    env = skyrl_gym.make("recorded", env_config={"url": recorder.url, "reward": "r"}, extras=extras)
    env.init(PROMPT)
    env.step(ANSWER)
    recorder.check("skyrl", "skyrl-gym")


def test_tinker(recorder: Recorder) -> None:
    base = importlib.import_module("tinker_cookbook.renderers.base")
    body = base.ToolCall.FunctionBody(name="zoom", arguments=json.dumps(CALL["arguments"]))
    prompt = [
        base.Message(
            role="user",
            content=[base.ImagePart(type="image", image=picture()), base.TextPart(type="text", text=QUESTION)],
        )
    ]
    response = [
        base.Message(
            role="assistant",
            content=[base.ThinkingPart(type="thinking", thinking=THOUGHT)],
            tool_calls=[base.ToolCall(function=body, id="c1")],
        ),
        base.Message(role="tool", content=RESULT, tool_call_id="c1", name="zoom"),
        base.Message(role="assistant", content=ANSWER),
    ]
    with RewardGateway() as gateway:
        gateway.score([{"prompt": prompt, "response": response, "ground_truth": "red"}])
    recorder.check("tinker", "tinker-cookbook")


def test_nemo_gym(recorder: Recorder) -> None:
    pytest.importorskip("nemo_gym", reason="NeMo Gym needs Python 3.12")
    absent("pydot", "gprof2dot", "yappi", "wandb", "mlflow", "git")
    from fastapi.testclient import TestClient

    client = importlib.import_module("reward_gateway_client.nemo_gym")
    config = client.RewardGatewayConfig(
        name="gateway",
        host="127.0.0.1",
        port=1,
        entrypoint="app.py",
        domain="other",
        gateway_url=recorder.url,
        reward="r",
    )
    server = client.RewardGatewayServer.model_construct(config=config)
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    output = [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": THOUGHT}]},
        {"type": "function_call", "call_id": "c1", "name": "zoom", "arguments": json.dumps(CALL["arguments"])},
        {"type": "function_call_output", "call_id": "c1", "output": RESULT},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]},
    ]
    shown = [
        {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
        {"type": "input_text", "text": QUESTION},
    ]
    response = {
        "id": "resp",
        "created_at": 0,
        "model": "m",
        "object": "response",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    body = {
        "responses_create_params": {"input": [{"role": "user", "content": shown}]},
        "response": response,
        "expected_answer": "red",
    }
    app = server.setup_webserver()
    answer = TestClient(app).post("/verify", json=body)
    assert answer.status_code == 200, answer.text
    recorder.check("nemo-gym", "nemo-gym")
