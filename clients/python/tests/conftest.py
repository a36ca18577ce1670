"""Fixtures: a real gateway for the session, and a loopback server with scripted responses."""

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import reward_gateway_client.retry as retry
from asked import Run, awaited
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


class Queued:
    """A gateway with a queue, on a port that it keeps over kills. `settings` are those of `queue`."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        configs = folder / "rm-configs"
        shutil.copytree(HERE / "rm-configs", configs)
        (configs / "gateway.yaml").write_text(f"queue: {{ folder: ../queue, {settings} }}")
        self._command = ["node", str(MAIN), "serve", "--port", str(port), "--log-level", "error"]
        self._command += ["--config", str(configs), "--reward-functions", str(HERE / "functions")]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.url in self.process.stdout.readline()

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queued]:
    gateway = Queued(tmp_path_factory.mktemp("queued"))
    yield gateway
    gateway.kill()


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("URL", "API_KEY", "REWARD", "RUN", "TIMEOUT_S", "RETRIES", "TRUST_ENV"):
        monkeypatch.delenv(f"REWARD_GATEWAY_{name}", raising=False)


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_PAUSE_S", 0.01)


@pytest.fixture
def same(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the environment, for trainers that pass no arguments."""
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway_url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "same")


@pytest.fixture
def run() -> Run:
    return awaited


@pytest.fixture
def name() -> str:
    return f"run-{uuid4().hex[:8]}"
