"""Fixtures: a real gateway for the session, and a loopback server with scripted responses."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    for name in ("URL", "API_KEY", "REWARD", "RUN", "TIMEOUT_S"):
        monkeypatch.delenv(f"REWARD_GATEWAY_{name}", raising=False)
