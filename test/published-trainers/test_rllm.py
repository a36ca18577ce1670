"""rLLM's engine runs a flow and asks the verifier. It is not published as a package: this needs a clone."""

import asyncio
import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from reward_gateway_client import Unscorable

from losing import Losing
from published import absent, cloned
from served import Served


def episodes(answers: list[str], label: str | None, **options: Any) -> Any:
    """What the engine makes of a flow that answers at once. Its gateway of models has no traces, as in evaluation."""
    cloned("rllm")
    absent("rllm_model_gateway")
    types = importlib.import_module("rllm.types")
    engine = importlib.import_module("rllm.engine.agentflow_engine").AgentFlowEngine
    load = importlib.import_module("rllm.eval.evaluator_loader").load_evaluator

    class Flow:
        async def arun(self, task: Any, config: Any) -> Any:
            said = [
                {"role": "user", "content": task.instruction},
                {"role": "assistant", "content": task.metadata["say"]},
            ]
            step = types.Step(chat_completions=said, model_response=task.metadata["say"])
            return types.Episode(trajectories=[types.Trajectory(steps=[step])])

    async def traces(_: str) -> list[Any]:
        return []

    async def forget(_: Any) -> None:
        pass

    models = SimpleNamespace(aget_traces=traces, adelete_sessions=forget, get_session_url=lambda *_, **__: "")
    truth = {"answer": label} if label else {}
    tasks = [
        types.Task(id=str(i), instruction="2+2?", metadata={"say": said, **truth}) for i, said in enumerate(answers)
    ]

    async def whole() -> Any:
        verifier = load("reward_gateway_client.rllm:evaluate")
        running = engine(Flow(), verifier, models, "m", n_parallel_tasks=4, **options)
        return await running.execute_tasks(tasks, is_validation=True)

    return asyncio.run(whole())


def rewarded(url: str, reward: str, answer: str, label: str | None) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REWARD_GATEWAY_URL", url)
        patch.setenv("REWARD_GATEWAY_REWARD", reward)
        return episodes([answer], label)[0].trajectories[0].reward


def test_good_slow_and_invalid_answers(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "answer")
    found = episodes(["4", "5", "slow"], "4")
    assert [one.trajectories[0].reward for one in found] == [1, 0, 0.5]
    assert [one.is_correct for one in found] == [True, False, False]
    assert found[0].trajectories[0].signals == {"answer": 1, "answer_scored": 1}
    with pytest.raises(Unscorable):
        episodes(["4", "throw"], "4", retry_limit=1)
    kept = episodes(["4", "throw"], "4", retry_limit=1, raise_on_error=False)
    assert [len(one.trajectories) for one in kept] == [1, 0]
    assert kept[1].termination_reason.value == "error"


def test_a_retry_gets_the_answer(gateway: Served, losing: Losing) -> None:
    assert rewarded(losing.url, "answer", "13", "13") == 1
    assert list(losing.tries.values()) == [3]
