"""Figures in the run of W&B that a trainer has open, and runs made of a record."""

import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from reward_gateway_client import RewardGateway, Sample, wandb_log
from reward_gateway_client.wandb_log import StepFigures
from reward_gateway_client.wandb_runs import write_runs
from scripted import ScriptedServer, reset, results, status

SAMPLES = [Sample(response="1"), Sample(response="0.5"), Sample(response="throw")]


class OpenRun:
    """What a trainer's run does with a log: keys of one step are put together."""

    def __init__(self) -> None:
        self.step = 7
        self.logged: dict[str, float] = {}

    def log(self, figures: dict[str, float], *, commit: bool) -> None:
        assert not commit, "the trainer's steps stay as they are"
        self.logged.update(figures)


@pytest.fixture
def open_run(monkeypatch: pytest.MonkeyPatch) -> OpenRun:
    run = OpenRun()
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=run))
    return run


def scored(url: str, samples: list[Sample]) -> None:
    with RewardGateway(url, reward="stated") as gateway:
        gateway.score(samples)


def test_batches_of_a_step_count_together_and_a_failure_is_no_number(gateway_url: str, open_run: OpenRun) -> None:
    scored(gateway_url, SAMPLES[:1])
    scored(gateway_url, SAMPLES[1:])
    logged = open_run.logged
    assert logged["reward_gateway/rows"] == 3
    assert logged["reward_gateway/invalid/share"] == pytest.approx(1 / 3)
    assert logged["reward_gateway/invalid/rule_error"] == pytest.approx(1 / 3)
    assert logged["reward_gateway/reward/mean"] == pytest.approx(logged["reward_gateway/terms/stated/mean"])
    assert logged["reward_gateway/reward/mean"] == 0.75, "the mean of the two that have a reward"
    open_run.step += 1
    scored(gateway_url, SAMPLES[:1])
    assert open_run.logged["reward_gateway/rows"] == 1
    assert open_run.logged["reward_gateway/invalid/share"] == 0


def test_tokens_and_latency_are_figures_as_the_gateways_export_has_them(
    scripted: ScriptedServer, open_run: OpenRun
) -> None:
    lengths: list[Any] = [{"prompt": 100, "response": 8}, {"response": 24}, None]
    with RewardGateway(scripted.url, reward="r") as gateway:
        gateway.score([Sample(response="1", tokens=tokens) for tokens in lengths])

        def later(handler: Any, body: Any) -> None:
            time.sleep(0.2)
            results(handler, body)

        scripted.answers = [later]
        gateway.score([Sample(response="1")], progress=False)
    logged = {name.removeprefix("reward_gateway/"): value for name, value in open_run.logged.items()}
    tokens = {name: value for name, value in logged.items() if name.startswith("rollout_tokens/")}
    assert tokens == {
        "rollout_tokens/prompt/mean": 100,
        "rollout_tokens/prompt/sum": 100,
        "rollout_tokens/response/mean": 16,
        "rollout_tokens/response/sum": 32,
    }
    assert logged["latency_ms/p50"] < 200 <= logged["latency_ms/p95"] * 1.01
    assert logged["latency_ms/p95"] <= logged["latency_ms/max"] < 2000
    assert "latency_ms" not in str(StepFigures().figures())


def test_stalls_of_the_last_step_are_logged_by_cause_once_a_step(scripted: ScriptedServer, open_run: OpenRun) -> None:
    shares = [
        {"cause": "answer", "model": "a", "ms": 1500},
        {"cause": "answer", "model": "b", "ms": 500},
        {"cause": "hung", "model": "b", "ms": 250},
    ]
    stalls = {"run": "run-7", "steps": [{"step": 6, "ms": 2250, "shares": shares}, {"step": 5, "ms": 1, "shares": []}]}
    scripted.answers = [results, lambda handler, _: handler.send(200, stalls), results]
    with RewardGateway(scripted.url, reward="r", run="run-7") as gateway:
        gateway.score(SAMPLES[:1])
        gateway.score(SAMPLES[:1])
        paths = [request["path"] for request in scripted.requests]
        assert paths == ["/v1/score", "/v1/stalls?run=run-7", "/v1/score"]
        prefix = "reward_gateway/stall_seconds"
        told = {name.removeprefix(prefix): value for name, value in open_run.logged.items() if prefix in name}
        causes = {"rule": 0, "line": 0, "answer": 2, "hung": 0.25, "sandbox": 0, "group": 0, "parked": 0, "gateway": 0}
        assert told == {"": 2.25, "/step": 6, **{f"/{cause}": seconds for cause, seconds in causes.items()}}
        open_run.step += 1
        for answer in (status(404, "RG_NOT_FOUND"), reset, lambda handler, _: handler.send(200, ["no stalls"])):
            scripted.answers = [results, answer]
            assert gateway.score(SAMPLES[:1])[0].reward == 1
            open_run.step += 1


def test_the_gateway_tells_the_stalls_of_a_run(gateway_url: str, open_run: OpenRun) -> None:
    with RewardGateway(gateway_url, reward="stated", run="stalled") as gateway:
        for step in range(10):
            # The gateway keeps eight steps open.
            gateway.score(SAMPLES[:1], training_step=step)
            open_run.step += 1
    assert open_run.logged["reward_gateway/stall_seconds/step"] in range(3)
    assert open_run.logged["reward_gateway/stall_seconds"] > 0


def test_without_an_open_run_nothing_is_imported_or_logged(
    gateway_url: str, open_run: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_WANDB", "0")
    scored(gateway_url, SAMPLES)
    assert open_run.logged == {}
    monkeypatch.delenv("REWARD_GATEWAY_WANDB")
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(run=None))
    scored(gateway_url, SAMPLES)
    monkeypatch.delitem(sys.modules, "wandb")
    scored(gateway_url, SAMPLES)
    assert "wandb" not in sys.modules


def test_a_log_that_fails_costs_no_reward(gateway_url: str, open_run: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(open_run, "log", fails)
    scored(gateway_url, SAMPLES)
    with pytest.raises(RuntimeError):
        open_run.log({}, commit=False)


def test_wandb_keeps_the_figures_beside_the_trainers_own(gateway_url: str, tmp_path: Any) -> None:
    wandb = pytest.importorskip("wandb")
    with wandb.init(mode="offline", dir=str(tmp_path), project="test", settings=wandb.Settings(silent=True)) as run:
        scored(gateway_url, SAMPLES)
        run.log({"loss": 1.0})
        assert run.step == 1
        summary = dict(run.summary)
    assert summary["loss"] == 1.0
    assert summary["reward_gateway/rows"] == 3
    wandb_log._open = None


def test_each_run_and_reward_of_a_record_is_an_offline_run(tmp_path: Any) -> None:
    pytest.importorskip("wandb")
    rows = [
        {"run": run, "reward": "quality", "step": step, "time": 1.7e9 + step, "figures": {"reward/mean": step / 8}}
        for run in ("a", "b/../c")
        for step in (1, 2, 40)
    ]
    assert write_runs(map(json.dumps, rows), str(tmp_path), "test") == 2
    assert len(list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))) == 2
