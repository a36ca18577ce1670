"""Fixtures: a real gateway for the session, and a loopback server with scripted responses."""

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asked import Run
from reward_gateway_client import shared
from scripted import ScriptedServer

HERE = Path(__file__).parent
MAIN = HERE.parents[2] / "dist/src/cli/main.js"


@pytest.fixture(scope="session")
def gateway_url() -> Iterator[str]:
    assert MAIN.exists(), "build the gateway first: npm run build"
    command = ["node", str(MAIN), "serve", "--port", "0", "--log-level", "error"]
    command += ["--config", str(HERE / "rm-configs"), "--reward-functions", str(HERE / "functions")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r" at (http://\S+)", said)
        assert found, f"the gateway did not start: {said}"
        yield found[1]
        process.terminate()


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "API_KEY", "REWARD", "RUN", "TIMEOUT_S", "TRUST_ENV"):
        monkeypatch.delenv(f"REWARD_GATEWAY_{name}", raising=False)


@pytest.fixture
def same(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the environment, for trainers that pass no arguments."""
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway_url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "same")


@pytest.fixture
def run() -> Run:
    def in_a_loop(work: Any) -> Any:
        async def whole() -> Any:
            try:
                return await work()
            finally:
                for client in shared._awaiting.pop(asyncio.get_running_loop(), {}).values():
                    await client.close()

        return asyncio.run(whole())

    return in_a_loop
