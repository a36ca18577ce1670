"""Adapters that score one rollout at a time, called as their trainers call them; `same` is 1 only
where prompt, ground truth and extra_info arrived."""

import asyncio
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asked import MESSAGES, PNG, PNG_URL, Run, stand_in
from reward_gateway_client import GatewayRefused, Unscorable, areal, slime, verifiers, verl
from scripted import ScriptedServer, result, results


def test_verl_s_function_sends_the_policy_versions_of_an_agent_loop(run: Run, scripted: ScriptedServer) -> None:
    # verl's reward managers merge the fields of a trajectory into extra_info.
    loops: list[dict[str, Any]] = [
        {"min_global_steps": 4, "max_global_steps": 6},
        {"min_global_steps": None, "max_global_steps": 6},
        {"min_global_steps": None, "max_global_steps": None},
        {},
    ]

    async def work() -> None:
        for fields in loops:
            await verl.compute_score("math", "1", "7", fields, url=scripted.url, reward="r")

    run(work)
    samples = [request["body"]["samples"][0] for request in scripted.requests]
    both, last = {"first": 4, "last": 6}, {"first": 6, "last": 6}
    assert [sample.get("policy_version") for sample in samples] == [both, last, None, None]


def test_verl_gets_constant_keys_and_an_exception_for_what_has_no_reward(run: Run, gateway_url: str) -> None:
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


def test_areal_waits_for_judges_without_a_pool_and_sends_why_a_response_ended_and_its_versions(
    run: Run, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, same: None, gateway_url: str
) -> None:
    class Workflow:
        """What AReaL's workflows do with a reward function that is no name."""

        def __init__(self, reward_fn: Any, gconfig: Any) -> None:
            self.async_reward_fn: Any = lambda *_, **__: 0
            self.gconfig = gconfig

        async def arun_episode(self, engine: Any, data: dict[str, Any]) -> Any:
            """One turn after the other, as MultiTurnWorkflow; RLVRWorkflow ends after the first."""
            assert engine.get_version() == 5
            found = []
            for _ in range(data["turns"]):
                resp = await engine.agenerate("request")
                asked = (resp.input_tokens, resp.output_tokens)
                found.append(await self.async_reward_fn("rendered", data["says"], *asked, **data))
            return found

    class Engine:
        """Stops for another reason with each response; a newer policy takes over in the middle of it."""

        def __init__(self, *reasons: str) -> None:
            self.reasons = list(reasons)

        def get_version(self) -> int:
            return 5

        async def agenerate(self, _: Any) -> Any:
            await asyncio.sleep(0)
            reason = self.reasons.pop(0)
            versions = [4, 5, 5] if reason != "empty" else []
            tokens = list(range(len(versions)))
            return SimpleNamespace(
                input_tokens=[1, 2], output_tokens=tokens, output_versions=versions, stop_reason=reason
            )

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
        episodes = (
            workflow.arun_episode(Engine(*reasons), {**row, "turns": len(reasons), "says": "0.5"})
            for reasons in (("length", "stop"), ("abort",), ("empty",))
        )
        assert await asyncio.gather(*episodes) == [[0.5, 0.5], [0.5], [0.5]]

    run(work)
    alone, *told = (request["body"]["samples"][0] for request in scripted.requests)
    assert alone["tokens"] == {"prompt": 2, "response": 1}
    # Two rollouts are under way at once: each sends what is its own.
    assert sorted(str(sample.get("status")) for sample in told) == ["None", "None", "aborted", "truncated"]
    versions = [sample.get("policy_version") for sample in told]
    assert versions.count({"first": 4, "last": 5}) == 3
    assert versions.count(None) == 1


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


def slime_sample(response: str, **fields: Any) -> Any:
    """A sample as slime and miles hold it."""
    defaults = {"prompt": MESSAGES, "label": "7", "metadata": {"level": 3}, "group_index": 5, "multimodal_inputs": None}
    facts = {"tokens": [1, 2, 3], "response_length": 2, "weight_versions": ["4", "5"]}
    status = SimpleNamespace(value=fields.pop("status", "completed"))
    return SimpleNamespace(**{**defaults, **facts, "status": status, "response": response, **fields})


SLIME = SimpleNamespace(rm_url=None, reward_key=None, eval_reward_key=None)


@pytest.mark.usefixtures("same")
def test_slime_gets_numbers_or_objects_and_an_exception_for_what_has_no_reward(run: Run, gateway_url: str) -> None:
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
    run: Run, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
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


def message(**fields: Any) -> Any:
    """A message as verifiers keeps it: a model of pydantic."""
    return SimpleNamespace(**fields, model_dump=lambda **_: fields)


def trace(*turns: Any, asked: int = 2, **fields: Any) -> Any:
    nodes = [SimpleNamespace(message=turn, sampled=at >= asked) for at, turn in enumerate(turns)]
    return SimpleNamespace(**{"branches": [SimpleNamespace(nodes=nodes)], "record_metrics": {}.update, **fields})


SYSTEM, ASK = message(role="system", content="be brief"), message(role="user", content="ask")


@pytest.mark.usefixtures("same")
def test_verifiers_gets_a_number_and_metrics_or_an_exception(run: Run) -> None:
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


def test_verifiers_sends_every_turn_of_a_trace(
    run: Run, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
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


class Kept:
    """A stand-in for a data class of a trainer, with any fields."""

    def __init__(self, *values: Any, **fields: Any) -> None:
        self.fields = {"values": values, **fields} if values else fields


@pytest.mark.usefixtures("same")
def test_rllm_gets_the_reward_of_the_last_trajectory(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "rllm.eval.types", EvalOutput=Kept, Signal=Kept)
    from reward_gateway_client import rllm

    def step(*said: Any, **fields: Any) -> Any:
        defaults = {"response_ids": [1, 2], "weight_version": 4, "output": None, "model_response": ""}
        return SimpleNamespace(**{**defaults, "chat_completions": list(said), **fields})

    def episode(*steps: Any, reason: Any = None, **artifacts: Any) -> Any:
        trajectory = SimpleNamespace(steps=steps, output=None)
        return SimpleNamespace(trajectories=[trajectory], artifacts=artifacts, termination_reason=reason)

    task = SimpleNamespace(instruction="ask", metadata={"ground_truth": "7", "level": 3})
    answer = {"role": "assistant", "content": "x"}
    output = rllm.evaluate(task, episode(step(*MESSAGES, answer))).fields
    assert (output["reward"], output["is_correct"]) == (1, True)
    assert [one.fields["values"] for one in output["signals"]] == [("score", 1.0), ("score_scored", 1.0)]
    assert rllm.evaluate(task, episode(answer="x")).fields["reward"] == 1
    with pytest.raises(Unscorable, match="rule_error"):
        rllm.evaluate(task, episode(step(*MESSAGES, {"role": "assistant", "content": "throw"})))

    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    scripted.answers = [ones] * 3
    turns = [{"role": "assistant", "content": "", "tool_calls": [1]}, {"role": "tool", "content": "sunny"}, answer]
    first, last = step(*MESSAGES, turns[0]), step(*MESSAGES, *turns, weight_version=5)
    reason = SimpleNamespace(value="max_turns_exceeded")
    rllm.evaluate(task, episode(first, last, reason=reason))
    cut = [{"role": "user", "content": "in short: ask"}, answer]
    rllm.evaluate(task, episode(first, step(*cut)))
    rllm.evaluate(task, episode(step(output="", model_response="said", response_ids=[], weight_version=None)))
    whole, short, bare = (request["body"]["samples"][0] for request in scripted.requests)
    assert (whole["prompt"], whole["response"], whole["status"]) == (MESSAGES, turns, "tool_limit")
    assert (whole["tokens"], whole["policy_version"]) == ({"response": 4}, {"first": 4, "last": 5})
    assert (short["prompt"], short["response"]) == (cut[:1], cut[1:])
    parts = [{"type": "text", "text": "ask"}]
    shown = SimpleNamespace(instruction=parts, metadata={})
    scripted.answers = [ones]
    rllm.evaluate(shown, episode(answer="said"))
    assert scripted.requests[-1]["body"]["samples"][0]["prompt"] == [{"role": "user", "content": parts}]
    assert bare == {"prompt": "ask", "response": "said", "ground_truth": "7", "extra_info": {"level": 3}}


def ones(handler: Any, body: dict[str, Any]) -> None:
    handler.send(200, {"results": [result(0, 1)], "reward": {"name": body["reward"], "version": "1"}})


@pytest.mark.usefixtures("same")
def test_tinker_gets_a_reward_a_step_and_says_which_answer_of_its_group_it_is(
    run: Run, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = {"Env": object, "EnvGroupBuilder": object, "StepResult": Kept}
    stand_in(monkeypatch, "tinker", ModelInput=SimpleNamespace(empty=list))
    stand_in(monkeypatch, "tinker_cookbook.rl.types", **types)
    from reward_gateway_client import tinker

    renderer = SimpleNamespace(
        build_generation_prompt=lambda messages: [len(messages)],
        get_stop_sequences=lambda: ["\n"],
        parse_response=lambda ids: ({"role": "assistant", "content": "".join(map(chr, ids))}, None),
    )
    builder = tinker.GatewayGroupBuilder(renderer, MESSAGES, {"answer": "7", "level": 3}, group_size=2)

    async def work() -> None:
        first, second = await builder.make_envs()
        assert await first.initial_observation() == ([2], ["\n"])
        stepped = (await first.step(list(map(ord, "x")))).fields
        assert (stepped["reward"], stepped["episode_done"]) == (1, True)
        assert stepped["metrics"] == {"score": 1, "score_scored": 1}
        with pytest.raises(Unscorable, match="rule_error"):
            await second.step(list(map(ord, "throw")))
        monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
        scripted.answers = [ones] * 2
        await first.step([120], extra={"stop_reason": "length"})
        await second.step([120], extra={"stop_reason": "stop"})

    run(work)
    first, second = (request["body"]["samples"][0] for request in scripted.requests)
    assert (first["status"], first["tokens"], "status" in second) == ("truncated", {"response": 1}, False)
    assert [(one["group_index"], one["group_size"]) for one in (first, second)] == [(0, 2), (1, 2)]
    assert first["group_id"] == second["group_id"]
    assert first["extra_info"] == {"level": 3}
