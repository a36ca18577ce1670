"""A gateway of the checkout as a process, on a port that stays its own over restarts."""

import os
import re
import socket
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


class Served:
    def __init__(self, configs: Path = HERE / "rm-configs", environment: Mapping[str, str] | None = None) -> None:
        self.configs = configs
        self.environment = {**os.environ, **(environment or {})}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0
        self.start()
        self.wait()

    def start(self) -> None:
        """Does not wait until it listens."""
        main = ROOT / "dist/src/cli/main.js"
        assert main.exists(), "build the gateway first: npm run build"
        command = ["node", str(main), "serve", "--port", str(self.port), "--log-level", "error"]
        command += ["--config", str(self.configs), "--reward-functions", str(HERE / "functions")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment, text=True)
        self.starts += 1

    def wait(self) -> None:
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert self.url in said, f"the gateway did not start: {said}"

    def stop(self) -> None:
        """As an operator would: SIGTERM, and it ends by itself."""
        self._process.terminate()
        assert self._process.wait(30) == 0
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """Without notice."""
        self._process.kill()
        self._process.wait()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of the series of this name that have these labels."""
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            text = answer.read().decode()
        lines = re.findall(rf"^reward_gateway_{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        return sum(float(value) for found, value in lines if wanted <= set(found.split(",")))
