"""The lifetime of a client: unused, closed, pickled, in another process or event loop."""

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import reward_gateway_client.retry as retry
from asked import Run
from reward_gateway_client import (
    AsyncRewardGateway,
    ClientUnusable,
    GatewayUnreachable,
    RewardGateway,
    RewardGatewayError,
)
from reward_gateway_client.shared import shared_async_gateway, shared_gateway
from scripted import ScriptedServer, lines, reset, result, silent, status

TYPED = Path(__file__).parent / "typed_use.py"

SAMPLES = [{"response": "0.5"}, {"response": "1"}]
"""Samples as users write them; a type checker sees list[dict[str, str]]."""


def rewards(gateway: RewardGateway) -> list[Any]:
    return [found.reward for found in gateway.score(SAMPLES)]


def in_a_process(code: str) -> tuple[int, str, str]:
    ended = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr


def test_a_client_that_was_never_used_ends_without_a_word() -> None:
    code = """
import atexit, threading
started, start = [], threading.Thread.start
threading.Thread.start = lambda thread: (started.append(thread), start(thread))[1]
atexit.register(lambda: print(len(started), "threads"))
from reward_gateway_client import AsyncRewardGateway, RewardGateway
kept, other = RewardGateway("http://127.0.0.1:9"), AsyncRewardGateway("http://127.0.0.1:9")
RewardGateway("http://127.0.0.1:9")
with RewardGateway("http://127.0.0.1:9"):
    pass
closed = RewardGateway("http://127.0.0.1:9")
closed.close()
"""
    assert in_a_process(code) == (0, "0 threads\n", "")


def test_a_client_can_be_pickled_and_copied_with_its_settings(scripted: ScriptedServer) -> None:
    with RewardGateway(scripted.url, "key", reward="r", run="one", timeout_s=7) as gateway:
        assert rewards(gateway) == [0.5, 1]
        for made in (pickle.loads(pickle.dumps(gateway)), copy.copy(gateway), copy.deepcopy(gateway)):
            with made:
                assert rewards(made) == [0.5, 1]
        assert rewards(gateway) == [0.5, 1], "the first one goes on"
    assert len({request["raw"] for request in scripted.requests}) == 1
    assert {request["headers"]["authorization"] for request in scripted.requests} == {"Bearer key"}

    async def work() -> Any:
        async with AsyncRewardGateway(scripted.url, reward="r") as first:
            await first.score(SAMPLES)
            async with pickle.loads(pickle.dumps(first)) as second:
                return [found.reward for found in await second.score(SAMPLES)]

    assert asyncio.run(work()) == [0.5, 1]


def test_a_client_travels_to_a_spawned_process(scripted: ScriptedServer) -> None:
    with (
        RewardGateway(scripted.url, reward="r") as gateway,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        assert rewards(gateway) == [0.5, 1]
        assert pool.submit(rewards, gateway).result() == [0.5, 1]


def test_a_closed_client_says_so_and_starts_nothing(scripted: ScriptedServer) -> None:
    gateway = RewardGateway(scripted.url, reward="r")
    rewards(gateway)
    scripted.answers = [lines(*({"index": i, **result(i, 1)} for i in range(2)))]
    stream = gateway.stream(SAMPLES)
    next(stream)
    gateway.close()
    gateway.close()
    threads = threading.active_count()
    for call in (lambda: rewards(gateway), lambda: list(gateway.stream(SAMPLES)), lambda: gateway.post("/", {})):
        with pytest.raises(ClientUnusable, match="closed"):
            call()
    with pytest.raises(ClientUnusable, match="closed"):
        next(stream)
    assert threading.active_count() == threads
    unused = RewardGateway(scripted.url, reward="r")
    unused.close()
    with pytest.raises(RewardGatewayError, match="closed"):
        rewards(unused)

    async def work() -> None:
        client = AsyncRewardGateway(scripted.url, reward="r")
        await client.close()
        with pytest.raises(ClientUnusable, match="closed"):
            await client.score(SAMPLES)
        with pytest.raises(ClientUnusable, match="closed"):
            await anext(client.stream(SAMPLES))

    asyncio.run(work())


def test_what_is_under_way_ends_when_its_client_is_closed(scripted: ScriptedServer) -> None:
    scripted.answers = [silent, silent]
    gateway = RewardGateway(scripted.url, reward="r")
    raised: list[BaseException] = []

    def waiting() -> None:
        try:
            rewards(gateway)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=waiting) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(scripted.requests) < 2:
        time.sleep(0.01)
    gateway.close()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    assert [type(error) for error in raised] == [ClientUnusable] * 2


def test_an_async_client_is_for_one_event_loop(scripted: ScriptedServer) -> None:
    client = AsyncRewardGateway(scripted.url, reward="r")

    async def work() -> None:
        await client.score(SAMPLES)

    first = asyncio.new_event_loop()
    first.run_until_complete(work())
    with pytest.raises(ClientUnusable, match="another event loop"):
        asyncio.run(work())
    first.run_until_complete(client.close())
    first.close()


@pytest.mark.parametrize("code", [429, 503])
def test_a_wait_that_is_too_long_is_named_with_what_asked_for_it(scripted: ScriptedServer, code: int) -> None:
    scripted.answers = [status(code, retry_after="60")]
    started = time.monotonic()
    wanted = rf"1 failed try within 15 s: HTTP {code} RG_OVERLOADED: no, Retry-After 60 s with (14\.\d|15) s left"
    with RewardGateway(scripted.url, reward="r", timeout_s=15) as gateway, pytest.raises(GatewayUnreachable) as away:
        rewards(gateway)
    assert time.monotonic() - started < 5
    away.match(wanted)


def test_the_last_failure_is_named_where_tries_run_out(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.001)
    for answer, words in ((reset, "ServerDisconnectedError"), (status(429), "HTTP 429 RG_OVERLOADED: no")):
        scripted.answers = [answer] * 3
        with (
            RewardGateway(scripted.url, reward="r", retries=2) as gateway,
            pytest.raises(GatewayUnreachable, match=f"3 failed tries within 600 s: {words}"),
        ):
            rewards(gateway)
    whole = {"index": 0, **result(0, 0.5)}
    scripted.answers = [lines(whole, whole=False)] * 3
    with (
        RewardGateway(scripted.url, reward="r", retries=2) as gateway,
        pytest.raises(GatewayUnreachable, match="3 failed tries within 600 s: "),
    ):
        list(gateway.stream(SAMPLES))


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_proxies_of_the_environment_are_used_only_if_asked_for(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str
) -> None:
    secrets = tmp_path / "netrc"
    secrets.write_text("default login someone password secret")
    monkeypatch.setenv("NETRC", str(secrets))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, scripted.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    url = "http://gateway.invalid:8080"
    with (
        RewardGateway(url, reward="r", retries=0) as direct,
        pytest.raises(GatewayUnreachable),
    ):
        rewards(direct)
    if way == "environment":
        monkeypatch.setenv("REWARD_GATEWAY_TRUST_ENV", "1")
    with RewardGateway(url, "key", reward="r", trust_env=True if way == "argument" else None) as proxied:
        assert rewards(proxied) == [0.5, 1]
    (request,) = scripted.requests
    assert (request["path"], request["headers"]["authorization"]) == (f"{url}/v1/score", "Bearer key")
    monkeypatch.setenv("no_proxy", "other.invalid,.invalid")
    with (
        RewardGateway(url, reward="r", retries=0, trust_env=True) as excepted,
        pytest.raises(GatewayUnreachable),
    ):
        rewards(excepted)


def test_code_of_users_passes_a_strict_checker() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(TYPED)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_adapters_share_a_client_a_process_and_loop(run: Run, gateway_url: str) -> None:
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
