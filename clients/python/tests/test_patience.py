"""How long adapters and clients try: a gateway that is back in time must not cost a run."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import reward_gateway_client
import reward_gateway_client.retry as retry
from asked import awaited, stand_in
from reward_gateway_client import GatewayUnreachable, RewardGateway, easyr1, ray, shared, slime, trl, verl
from scripted import ScriptedServer, result, silent, status

Call = Callable[[], Any]
PAGE_PATIENCE_S = 600
SAMPLE = SimpleNamespace(
    prompt="q",
    response="1",
    label="7",
    metadata={},
    group_index=None,
    multimodal_inputs=None,
    tokens=[],
    response_length=0,
    weight_versions=[],
    status=SimpleNamespace(value="completed"),
)


def of_slime(url: str, path: str = "") -> Any:
    args = SimpleNamespace(rm_url=url + path if path else None, reward_key=None, eval_reward_key=None)
    return awaited(lambda: slime.reward(args, SAMPLE))


def of_swift(_: str) -> Any:
    from reward_gateway_client import swift

    return asyncio.run(swift.Gateway()(["1"]))[0]


def of_skyrl(_: str) -> Any:
    from reward_gateway_client.skyrl import RewardGatewayEnv

    return RewardGatewayEnv().step("1").fields["reward"]  # type: ignore[attr-defined]


ADAPTERS: dict[str, Callable[[str], Any]] = {
    "slime, miles": of_slime,
    "slime by its address": lambda url: of_slime(url, "/wire/slime/r"),
    "verl": lambda _: awaited(lambda: verl.compute_score("", "1", "7"))["score"],
    "TRL": lambda _: awaited(lambda: trl.gateway_rewards()[0](["q"], ["1"], answer=["7"]))[0],
    "ms-swift": of_swift,
    "SkyRL": of_skyrl,
    "EasyR1": lambda _: easyr1.compute_score([{"response": "1", "ground_truth": "7"}])[0]["overall"],
    "threads": lambda _: shared.score_shared_sync([{"response": "1"}], reward="r")[0].reward,
}


@pytest.fixture(params=ADAPTERS)
def adapter(
    request: pytest.FixtureRequest, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Call]:
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.00001)
    orm = type("AsyncORM", (), {"__init__": lambda *_, **__: None})
    stand_in(monkeypatch, "swift.rewards", orms={}, AsyncORM=orm)
    base = type("BaseTextEnv", (), {"__init__": lambda *_: None})
    output = type("BaseTextEnvStepOutput", (), {"__init__": lambda self, **fields: setattr(self, "fields", fields)})
    stand_in(monkeypatch, "skyrl_gym.envs.base_text_env", BaseTextEnv=base, BaseTextEnvStepOutput=output)
    yield lambda: ADAPTERS[request.param](scripted.url)
    for name in ("swift", "skyrl"):
        sys.modules.pop(f"reward_gateway_client.{name}", None)
        vars(reward_gateway_client).pop(name, None)


def one(handler: Any, body: dict[str, Any]) -> None:
    rows = [result(0, 1)]
    handler.send(200, {"results": rows, "reward": {"name": "r", "version": "1"}} if "samples" in body else 1)


def test_an_adapter_outlasts_any_number_of_tries_within_its_time(adapter: Call, scripted: ScriptedServer) -> None:
    scripted.answers = [*[status(503, "RG_CLOSING")] * 14, one]
    assert adapter() == 1
    assert len(scripted.requests) == 15


def test_an_adapter_waits_as_long_as_the_environment_says(
    adapter: Call, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_TIMEOUT_S", "0.2")
    scripted.answers = [silent]
    started = time.monotonic()
    with pytest.raises(GatewayUnreachable, match=r"within 0\.2 s"):
        adapter()
    assert time.monotonic() - started < 2


def test_an_adapter_tries_as_often_as_the_environment_says(
    adapter: Call, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARD_GATEWAY_RETRIES", "2")
    scripted.answers = [status(503, "RG_CLOSING")] * 3
    with pytest.raises(GatewayUnreachable, match="3 failed tries"):
        adapter()


def test_the_tries_of_an_adapter_fill_the_ten_minutes_that_the_pages_name() -> None:
    """The pauses of a gateway that refuses connections, in virtual time."""
    now = 0.0
    tries = retry.Tries(PAGE_PATIENCE_S, float("inf"), lambda: now, lambda: 0.5)
    with suppress(GatewayUnreachable):
        while True:
            now += tries.pause_s(ConnectionRefusedError())
    assert now > PAGE_PATIENCE_S - retry.LONGEST_PAUSE_S


def test_trl_s_functions_take_the_number_of_retries(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.001)
    scripted.answers = [status(503, "RG_CLOSING")] * 2
    (function,) = trl.gateway_rewards(scripted.url, reward="r", retries=1)
    with pytest.raises(GatewayUnreachable, match="2 failed tries"):
        awaited(lambda: function(["q"], ["1"], answer=["7"]))


def test_a_client_takes_both_limits_from_the_environment(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setenv("REWARD_GATEWAY_RETRIES", "1")
    monkeypatch.setenv("REWARD_GATEWAY_TIMEOUT_S", "7")
    scripted.answers = [status(503, "RG_CLOSING")] * 2
    with (
        RewardGateway(scripted.url, reward="r") as gateway,
        pytest.raises(GatewayUnreachable, match=r"2 .* within 7 s"),
    ):
        gateway.score([{"response": "1"}])
    for name, said in (("TIMEOUT_S", "soon"), ("RETRIES", "-1"), ("TIMEOUT_S", "nan")):
        monkeypatch.setenv(f"REWARD_GATEWAY_{name}", said)
        with pytest.raises(ValueError, match=f"REWARD_GATEWAY_{name} must be a number, not '{said}'"):
            RewardGateway(scripted.url)
        monkeypatch.delenv(f"REWARD_GATEWAY_{name}")
    assert ray.ScoreBatch(scripted.url, "r")._timeout_s == 1800


def test_a_call_that_waits_long_says_so_once_a_minute(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.0001)
    monkeypatch.setattr(retry, "_told_at", -retry.TELLS_EVERY_S)
    with RewardGateway(scripted.url, reward="r") as gateway, caplog.at_level(logging.WARNING):
        for count in (2, 8, 8):
            scripted.answers = [*[status(503, "RG_CLOSING")] * count, one]
            gateway.score([{"response": "1"}])
    (line,) = caplog.messages
    assert "after 6 failed tries" in line
    assert "RG_CLOSING" in line
    assert "trying for 600 s more" in line
