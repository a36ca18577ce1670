"""Each adapter called as its trainer calls it, against a real gateway; `same` is 1 only where prompt, ground truth and
extra_info arrived."""

import asyncio
import json
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reward_gateway_client import GatewayRefused, Unscorable, areal, easyr1, ray, shared, slime, trl, verifiers, verl
from reward_gateway_client.shared import shared_async_gateway, shared_gateway
from scripted import ScriptedServer, result, results

PNG = b"\x89PNG\r\n\x1a\n..."
PNG_URL = "data:image/png;base64,iVBORw0KGgouLi4="

MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "ask"}]


def run(work: Any) -> Any:
    """Runs in a new event loop and closes its clients."""

    async def whole() -> Any:
        try:
            return await work()
        finally:
            for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                await client.close()

    return asyncio.run(whole())


@pytest.fixture
def same(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the environment, for trainers that pass no arguments."""
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway_url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "same")


def test_verl_gets_constant_keys_and_an_exception_for_what_has_no_reward(gateway_url: str) -> None:
    async def work() -> Any:
        score = partial(verl.compute_score, url=gateway_url, reward="same", reward_router_address=None)
        extra = {"question": "ask", "level": np.int64(3), "tags": np.array(["a"]), "num_turns": np.int64(1)}
        call = partial(score, data_source="math", ground_truth=np.str_("7"), extra_info=extra)
        right, wrong = await asyncio.gather(
            call(solution_str="x"), score(data_source="math", solution_str="x", ground_truth="8", extra_info={})
        )
        assert right == {"score": 1.0, "acc": 1.0, "score_term": 1.0, "score_scored": 1.0}
        assert (wrong["score"], list(wrong)) == (0.0, list(right))
        with pytest.raises(Unscorable, match="rule_error"):
            await call(solution_str="throw")
        kept = partial(verl.compute_score, "math", "throw", "7", {}, url=gateway_url, reward="kept")
        assert (await kept(unscorable="substitute"))["score"] == 0.25
        with pytest.raises(ValueError, match="unscorable"):
            await kept(unscorable="zero")
        many = await asyncio.gather(*(call(solution_str=str(i)) for i in range(64)))
        assert [row["score"] for row in many] == [1.0] * 64

    run(work)


def test_trl_asks_once_a_batch_and_none_means_invalid(scripted: ScriptedServer, gateway_url: str) -> None:
    logged: dict[str, float] = {}
    arguments: dict[str, Any] = {
        "completion_ids": [[1]] * 3,
        "trainer_state": SimpleNamespace(global_step=4),
        "log_extra": lambda *_: None,
        "log_metric": lambda name, value: logged.update({name: value}),
        "solution": ["7", "8", "7"],
        "level": [3, 3, 3],
    }
    completions = [[{"role": "assistant", "content": text}] for text in ("x", "x", "throw")]

    async def work() -> Any:
        names = ["reward", "score"]
        functions = trl.gateway_rewards(gateway_url, names, reward="same")
        assert [f.__name__ for f in functions] == names  # type: ignore[attr-defined]
        for _ in range(2):
            rewards = await asyncio.gather(*(f([MESSAGES] * 3, completions, **arguments) for f in functions))
            assert rewards == [[1, 0, None], [1, 0, None]]
        assert logged == {"gateway/invalid": 1 / 3}
        plain = trl.gateway_rewards(scripted.url, ["reward", "reward"], reward="r", truth="level")
        batches = [["0.1", "0.2"], ["0.3"]]
        texts = [(["p"] * len(batch), batch) for batch in batches]
        columns = {**arguments, "solution": ["7", "8"], "level": [3, 3]}
        found = await asyncio.gather(*(f(*text, **columns) for text in texts for f in plain))
        assert found == [[0.1, 0.2], [0.1, 0.2], [0.3], [0.3]]

    run(work)
    assert len(scripted.requests) == 2
    first = max((request["body"] for request in scripted.requests), key=lambda body: len(body["samples"]))
    assert first == {
        "reward": "r",
        "samples": [
            {
                "prompt": "p",
                "response": text,
                "ground_truth": 3,
                "extra_info": {"solution": truth},
                "tokens": {"response": 1},
            }
            for text, truth in (("0.1", "7"), ("0.2", "8"))
        ],
        "training_step": 4,
    }


def test_trl_warns_once_if_no_row_has_the_ground_truth_that_the_reward_needs(gateway_url: str) -> None:
    async def work() -> Any:
        (function,) = trl.gateway_rewards(gateway_url, reward="gsm8k")
        return [await function(["p"], ["#### 7"], completion_ids=[[1]]) for _ in range(2)]

    with pytest.warns(UserWarning, match=r"no row of this batch has a ground truth.*truth=") as caught:
        assert run(work) == [[None], [None]]
    assert len(caught) == 1


def test_trl_sends_every_field_of_a_message(scripted: ScriptedServer) -> None:
    call = {"type": "function", "function": {"name": "weather", "arguments": {"at": "Bonn"}}}
    prompt = [{"role": "user", "content": [{"type": "text", "text": "warm?", "image": None}], "tool_calls": None}]
    completion = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": "weather", "content": "25"},
        {"role": "assistant", "content": "0.5"},
    ]

    def answer(handler: Any, body: dict[str, Any]) -> None:
        handler.send(200, {"results": [result(0, 1)], "reward": {"name": body["reward"], "version": "1"}})

    scripted.answers = [answer]

    async def work() -> Any:
        (function,) = trl.gateway_rewards(scripted.url, reward="r")
        assert await function([prompt], [completion], solution=["7"]) == [1]

    run(work)
    (request,) = scripted.requests
    (sample,) = request["body"]["samples"]
    assert sample["prompt"] == [{"role": "user", "content": [{"type": "text", "text": "warm?", "image": None}]}]
    assert sample["response"] == [{"role": "assistant", "tool_calls": [call], "content": None}, *completion[1:]]


def test_easyr1_sends_a_batch_and_reads_what_the_ground_truth_carries(gateway_url: str) -> None:
    carried = json.dumps({"ground_truth": "7", "prompt": MESSAGES, "data_source": "math", "extra_info": {"level": 3}})
    inputs = [{"response": "x", "response_length": 1, "ground_truth": truth} for truth in (carried, "7", '{"a": 1}')]
    rows = easyr1.compute_score(inputs, url=gateway_url, reward="same")
    assert [row["overall"] for row in rows] == [1, 0, 0]
    assert {tuple(row) for row in rows} == {("score", "score_scored", "overall")}
    broken = [{"response": "throw", "response_length": 1, "ground_truth": ""}]
    assert easyr1.compute_score(broken, url=gateway_url, reward="kept")[0]["overall"] == 0.25
    with pytest.raises(Unscorable):
        easyr1.compute_score(broken, url=gateway_url, reward="same")


@pytest.mark.usefixtures("same")
def test_areal_calls_it_in_worker_processes() -> None:
    row = {"messages": MESSAGES, "answer": "7", "level": 3}
    pickle.dumps(areal.gateway_reward)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(areal.gateway_reward, "ask", "x<|im_end|>", [1], [2], **row).result() == 1
        with pytest.raises(Unscorable, match="rule_error"):
            pool.submit(areal.gateway_reward, "ask", "throw<|im_end|>\n", [1], [2], **row).result()
    texts = ["a<b>", "a<|im_end|><|endoftext|>", "a</s>\n", "<|im_end|>a", "a<｜end▁of▁sentence｜>", ""]
    assert [areal.without_end_tokens(text) for text in texts] == ["a<b>", "a", "a", "<|im_end|>a", "a", ""]


def test_areal_waits_for_judges_without_a_pool(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, same: None, gateway_url: str
) -> None:
    class Workflow:
        """What AReaL's workflows do with a reward function that is no name."""

        def __init__(self, reward_fn: Any, gconfig: Any) -> None:
            self.async_reward_fn = lambda *_, **__: 0
            self.gconfig = gconfig

    for module, name in (
        ("multi_turn", "MultiTurnWorkflow"),
        ("rlvr", "RLVRWorkflow"),
        ("vision_rlvr", "VisionRLVRWorkflow"),
    ):
        found = ModuleType(f"areal.workflow.{module}")
        setattr(found, name, type(name, (Workflow,), {}))
        monkeypatch.setitem(sys.modules, f"areal.workflow.{module}", found)
    for name in ("areal", "areal.workflow"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    from reward_gateway_client.areal_workflow import GatewayRLVRWorkflow

    row = {"messages": MESSAGES, "answer": "7", "level": 3}

    async def work() -> Any:
        workflow = GatewayRLVRWorkflow(gconfig="kept", reward_fn="another.function")
        assert workflow.gconfig == "kept"
        assert await workflow.async_reward_fn("rendered", "x<|im_end|>", [1], [2], **row) == 1
        with pytest.raises(Unscorable, match="rule_error"):
            await workflow.async_reward_fn("rendered", "throw", [1], [2], **row)
        monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
        scripted.answers = [results]
        await workflow.async_reward_fn("rendered", "0.5", [1, 2], [3], **row)

    run(work)
    (sample,) = scripted.requests[0]["body"]["samples"]
    assert sample["tokens"] == {"prompt": 2, "response": 1}


def slime_sample(response: str, **fields: Any) -> Any:
    """A sample as slime and miles hold it."""
    defaults = {"prompt": MESSAGES, "label": "7", "metadata": {"level": 3}, "group_index": 5, "multimodal_inputs": None}
    facts = {"tokens": [1, 2, 3], "response_length": 2, "weight_versions": ["4", "5"]}
    status = SimpleNamespace(value=fields.pop("status", "completed"))
    return SimpleNamespace(**{**defaults, **facts, "status": status, "response": response, **fields})


SLIME = SimpleNamespace(rm_url=None, reward_key=None, eval_reward_key=None)


@pytest.mark.usefixtures("same")
def test_slime_gets_numbers_or_objects_and_an_exception_for_what_has_no_reward(gateway_url: str) -> None:
    keyed = SimpleNamespace(rm_url=None, reward_key="acc", eval_reward_key="score")
    wire = SimpleNamespace(**{**vars(keyed), "rm_url": f"{gateway_url}/wire/slime/same?run=r"})
    plain = SimpleNamespace(**{**vars(SLIME), "rm_url": f"{gateway_url}/wire/slime/same"})

    async def work() -> Any:
        assert await slime.reward(SLIME, slime_sample("x")) == 1
        group = [slime_sample("x"), slime_sample("y", label="8")]
        assert await slime.reward(SLIME, group) == [1, 0]
        assert await slime.reward(plain, group) == [1, 0]
        assert await slime.reward(SLIME, []) == []
        for args in (keyed, wire):
            said = await slime.reward(args, slime_sample("x"))
            assert (said["acc"], said["score"], said["invalid"]) == (1, 1, 0)
        with pytest.raises(Unscorable, match="rule_error"):
            await slime.reward(SLIME, slime_sample("throw"))
        with pytest.raises(GatewayRefused, match="RG_SAMPLES_FAILED"):
            await slime.reward(plain, slime_sample("throw"))

    run(work)


@pytest.mark.usefixtures("same")
def test_slime_sends_status_tokens_versions_images_and_the_group(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "warm?"}]}]
    seen = slime_sample("0.5", prompt=asked, multimodal_inputs={"images": [PNG]}, status="failed")
    bare = slime_sample("1", status="pending", response_length=0, weight_versions=[], group_index=None, prompt=None)
    run(lambda: slime.reward(SLIME, [seen, bare]))
    first, second = scripted.requests[0]["body"]["samples"]
    assert first["prompt"][0]["content"][0] == {"type": "image", "image": PNG_URL}
    assert (first["status"], first["group_id"]) == ("env_error", 5)
    assert first["tokens"] == {"response": 2, "prompt": 1}
    assert first["policy_version"] == {"first": "4", "last": "5"}
    assert {"status", "tokens", "policy_version", "group_id"}.isdisjoint(second)


def test_areal_sends_the_images_of_a_vision_workflow(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
    row = {
        "messages": "<|im_start|>user\n<|image_pad|>warm?<|im_end|>",
        "messages_chat": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "warm?"}]}],
        "images": [PNG],
        "answer": "7",
    }
    scripted.answers = [results]
    assert areal.gateway_reward("rendered", "0.5<|im_end|>", [1], [2], **row) == 0.5
    (request,) = scripted.requests
    (sample,) = request["body"]["samples"]
    shown = [{"type": "image", "image": PNG_URL}, {"type": "text", "text": "warm?"}]
    assert sample["prompt"] == [{"role": "user", "content": shown}]
    assert (sample["response"], sample["ground_truth"], "images" in sample.get("extra_info", {})) == ("0.5", "7", False)


def message(**fields: Any) -> Any:
    """A message as verifiers keeps it: a model of pydantic."""
    return SimpleNamespace(**fields, model_dump=lambda **_: fields)


def trace(*turns: Any, asked: int = 2, **fields: Any) -> Any:
    nodes = [SimpleNamespace(message=turn, sampled=at >= asked) for at, turn in enumerate(turns)]
    return SimpleNamespace(**{"branches": [SimpleNamespace(nodes=nodes)], "record_metrics": {}.update, **fields})


SYSTEM, ASK = message(role="system", content="be brief"), message(role="user", content="ask")


@pytest.mark.usefixtures("same")
def test_verifiers_gets_a_number_and_metrics_or_an_exception() -> None:
    task = SimpleNamespace(prompt=[ASK], answer="7", model_dump=lambda **_: {"level": 3})
    metrics: dict[str, float] = {}
    said = message(role="assistant", content="x", tool_calls=None)

    async def work() -> None:
        assert await verifiers.score(task, trace(SYSTEM, ASK, said, record_metrics=metrics.update)) == 1
        assert metrics == {"gateway/score": 1, "gateway/score_scored": 1}
        text = SimpleNamespace(prompt="ask", prompt_text="ask", target="7")
        alone = SimpleNamespace(branches=[], last_reply="x", record_metrics=metrics.update)
        assert await verifiers.score(text, alone) == 0
        with pytest.raises(Unscorable):
            await verifiers.score(task, trace(SYSTEM, ASK, message(role="assistant", content="throw")))

    run(work)


def test_verifiers_sends_every_turn_of_a_trace(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
    call = {"id": "c1", "type": "function", "name": "weather", "arguments": "{}"}
    turns = [
        message(role="assistant", content=None, reasoning_content="I look.", tool_calls=[call]),
        message(role="tool", tool_call_id="c1", content=[{"type": "image_url", "image_url": {"url": "data:,"}}]),
        message(role="assistant", content="Sunny."),
    ]
    asked = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "ask"}]
    said = [
        {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
        {"role": "assistant", "content": "Sunny."},
    ]
    task = SimpleNamespace(prompt="ask", prompt_text="ask", answer="7")
    other = trace(SYSTEM, ASK, message(role="assistant", content="of a helper")).branches
    traces = [
        trace(SYSTEM, ASK, *turns),
        trace(SYSTEM, ASK, *turns, stop_condition="max_turns"),
        trace(SYSTEM, ASK, *turns, is_truncated=True),
        trace(SYSTEM, ASK, *turns, root_reply="Sunny.", branches=[*trace(SYSTEM, ASK, *turns).branches, *other]),
        trace(SYSTEM, ASK, *turns, root_reply="Else.", last_reply="Else."),
    ]

    def answer(handler: Any, body: dict[str, Any]) -> None:
        handler.send(200, {"results": [result(0, 1)], "reward": {"name": body["reward"], "version": "1"}})

    async def work() -> None:
        for one in traces:
            scripted.answers = [answer]
            assert await verifiers.score(task, one) == 1

    run(work)
    samples = [request["body"]["samples"][0] for request in scripted.requests]
    assert [sample["prompt"] for sample in samples] == [asked] * 4 + ["ask"]
    assert [sample["response"] for sample in samples] == [said] * 4 + ["Else."]
    assert [sample.get("status") for sample in samples] == [None, "tool_limit", "truncated", None, None]


def test_ray_adds_columns_to_a_table(gateway_url: str) -> None:
    table = pa.table(
        {
            "prompt": [MESSAGES] * 3,
            "completion": ["x", "x", "throw"],
            "gold": ["7", "8", "7"],
            "level": [3, 3, 3],
            "valid": ["old"] * 3,
        }
    )
    score = ray.ScoreBatch(gateway_url, "same", {"response": "completion", "ground_truth": "gold"})
    scored = score(table)
    assert scored.column("completion").to_pylist() == ["x", "x", "throw"]
    assert scored.column("reward").to_pylist() == [1, 0, None]
    assert scored.column("valid").to_pylist() == [True, True, False]
    assert scored.column("failure_kind").to_pylist() == [None, None, "rule_error"]
    assert scored.column("metrics").to_pylist()[2] == {"score": None, "score_scored": 0}
    assert score(table.slice(0, 0)).num_rows == 0


def test_swift_sends_columns_and_takes_the_substitute(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class AsyncORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

    swift, rewards = ModuleType("swift"), ModuleType("swift.rewards")
    rewards.orms, rewards.AsyncORM = {}, AsyncORM  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", swift)
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway_url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "same")
    from reward_gateway_client import swift as adapter

    assert rewards.orms == {"gateway": adapter.Gateway}  # type: ignore[attr-defined]
    orm = adapter.Gateway(args=None)
    columns: dict[str, Any] = {
        "messages": [[*MESSAGES, {"role": "assistant", "content": "x"}]] * 2,
        "solution": ["7", "8"],
        "level": [3, 3],
        "request_id": ["a", "b"],
        "trainer_state": SimpleNamespace(global_step=1),
    }
    assert asyncio.run(orm(["x", "x"], **columns)) == [1, 0]
    with pytest.raises(Unscorable):
        asyncio.run(orm(["throw"]))
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "kept")
    assert asyncio.run(adapter.Gateway()(["throw", "1"])) == [0.25, 1]


def test_swift_sends_the_turns_that_its_scheduler_counted(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class AsyncORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

    swift, rewards = ModuleType("swift"), ModuleType("swift.rewards")
    rewards.orms, rewards.AsyncORM = {}, AsyncORM  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", swift)
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
    monkeypatch.delitem(sys.modules, "reward_gateway_client.swift", raising=False)
    from reward_gateway_client import swift as adapter

    rollout = [
        {"role": "assistant", "content": "look()"},
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "0.5"},
    ]
    asked = {"role": "user", "content": "<image>warm?"}
    columns: dict[str, Any] = {
        "messages": [[asked, *rollout], [asked, *rollout]],
        "rollout_infos": [{"num_turns": 2}, {}],
        "images": [[{"bytes": PNG, "path": "a.png"}]] * 2,
        "finish_reason": ["length", "stop"],
        "response_token_ids": [[[1, 2], [3]], [4, 5]],
        "trajectory_inputs": {"request-1": []},
    }

    def answer(handler: Any, body: dict[str, Any]) -> None:
        rows = [result(at, 1) for at in range(2)]
        handler.send(200, {"results": rows, "reward": {"name": body["reward"], "version": "1"}})

    scripted.answers = [answer]
    assert asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns)) == [1, 1]
    (request,) = scripted.requests
    several, last = request["body"]["samples"]
    place = {"type": "image", "image": PNG_URL}
    shown = {"role": "user", "content": [place, {"type": "text", "text": "warm?"}]}
    assert (several["prompt"], several["response"]) == ([shown], rollout)
    assert (last["prompt"], last["response"]) == ([shown, *rollout[:2]], rollout[2:])
    assert (several["status"], several["extra_info"]) == ("truncated", {})
    assert "status" not in last
    assert (several["tokens"], last["tokens"]) == ({"response": 3}, {"response": 2})

    # Its schedulers write token ids over the text of every turn but the last.
    class Tokenizer:
        def decode(self, ids: list[int], **_: Any) -> str:
            return "".join(map(chr, ids))

    ids = {"role": "assistant", "content": [ord(letter) for letter in "look()"]}
    columns["messages"] = [[asked, ids, *rollout[1:]]] * 2
    scripted.answers = [answer]
    assert asyncio.run(adapter.Gateway(tokenizer=Tokenizer())(["0.5", "0.5"], **columns)) == [1, 1]
    assert scripted.requests[-1]["body"]["samples"][0]["response"] == rollout
    with pytest.raises(ValueError, match="set REWARD_GATEWAY_TOKENIZER"):
        asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns))
    columns["messages"] = [[asked, {"role": "assistant", "content": []}, *rollout[1:]]] * 2
    with pytest.raises(ValueError, match="neither a text nor token ids"):
        asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns))


def test_adapters_share_a_client_a_process_and_loop(gateway_url: str) -> None:
    assert shared_gateway(gateway_url) is shared_gateway(f"{gateway_url}/")
    assert shared_gateway(gateway_url, "key") is not shared_gateway(gateway_url)

    async def work() -> Any:
        assert shared_async_gateway(gateway_url) is shared_async_gateway(gateway_url)
        return shared_async_gateway(gateway_url)

    assert run(work) is not run(work)


def test_a_process_that_closes_nothing_ends_quietly_and_its_fork_scores_too(gateway_url: str) -> None:
    code = f"""
import asyncio, os, sys
from reward_gateway_client import RewardGateway
from reward_gateway_client.shared import shared_async_gateway, shared_gateway
url, samples = {gateway_url!r}, [{{"response": "1"}}, {{"response": "0"}}]
async def main():
    await shared_async_gateway(url).score(samples, reward="stated")
asyncio.run(main())
asyncio.run(main())
shared_gateway(url).score(samples, reward="stated")
own = RewardGateway(url)
next(own.stream(samples, reward="stated"))
if os.fork() == 0:
    try:
        own.score(samples, reward="stated")
    except RuntimeError:
        os._exit(int(shared_gateway(url).score(samples, reward="stated")[0].reward))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "Unclosed" not in ended.stderr
