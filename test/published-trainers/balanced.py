"""Two gateways behind the shipped HAProxy configuration, and a judge that takes a while."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from served import HERE, ROOT, Served


class Balanced:
    """Opened by `opened`."""

    def __init__(self, url: str, replicas: list[Served]) -> None:
        self.url = url
        self.replicas = replicas

    def wait_for(self, replica: Served) -> None:
        """Until HAProxy sends requests to it."""
        name = f"gateway-{self.replicas.index(replica)}"
        while True:
            with urllib.request.urlopen(f"{self.url}/livez") as answer:
                if answer.headers["x-reward-gateway-replica"] == name:
                    return


@contextmanager
def judge(latency_ms: int) -> Iterator[str]:
    """The address of a judge that always agrees."""
    command = ["node", str(ROOT / "dist/src/cli/main.js"), "simulate", "--model", "judge", "--policy", "constant"]
    command += ["--constant", "1", "--latency-median-ms", str(latency_ms), "--max-model-len", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@contextmanager
def opened(latency_ms: int = 200) -> Iterator[Balanced]:
    if shutil.which("haproxy") is None:
        pytest.skip("haproxy is not installed (apt-get install haproxy)")
    with judge(latency_ms) as address, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
        probe.close()
        replicas: list[Served] = []
        try:
            replicas.extend(Served(HERE / "balanced-configs", {"JUDGE": address}) for _ in range(2))
            addresses = {f"GATEWAY_{at}": f"127.0.0.1:{replica.port}" for at, replica in enumerate(replicas)}
            command = ["haproxy", "-db", "-f", str(ROOT / "docker/haproxy/haproxy.cfg")]
            with subprocess.Popen(command, env={**os.environ, "BIND": bind, **addresses}) as proxy:
                try:
                    _wait(f"http://{bind}/readyz", proxy)
                    yield Balanced(f"http://{bind}", replicas)
                finally:
                    proxy.terminate()
        finally:
            for replica in replicas:
                replica.stop()


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise RuntimeError(f"haproxy ended with {process.returncode}")
