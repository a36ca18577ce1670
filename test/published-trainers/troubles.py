"""What can go wrong while a trainer asks for one reward, with a real gateway."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread, Timer
from typing import Any

import losing
from served import HERE, Served


@dataclass(frozen=True)
class Case:
    title: str
    reward: str = "rule"
    has_truth: bool = True
    refusals: int = 0
    """How many requests a proxy refuses with 429 first."""
    restarts: bool = False


AWAY_S = 5

CASES = [
    Case("no ground truth", has_truth=False),
    Case("judge away", reward="away"),
    Case("deadline", reward="slow"),
    Case("no ground truth, `on_invalid: -0.5`", reward="kept", has_truth=False),
    Case("429 once", refusals=1),
    Case("gateway away for 5 s", restarts=True),
]


class Refusing(losing.Losing):
    """A proxy that counts tries and refuses the first ones."""

    def __init__(self, gateway_url: str) -> None:
        super().__init__(gateway_url)
        self.RequestHandlerClass = _Refusing
        self.refusals = 0
        self.asked = 0

    def handle_error(self, *_: Any) -> None:
        """Ignores trainers that no longer wait."""


class _Refusing(losing.Handler):
    def do_POST(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        with server.lock:
            server.asked += 1
            server.refusals -= 1
            is_refused = server.refusals >= 0
        if is_refused:
            error = {"code": "RG_OVERLOADED", "message": "try again", "problems": []}
            return self.answer(429, json.dumps({"error": error}).encode())
        return self.answer(*server.forward(self.path, body, self.headers))

    def answer(self, status: int, content: bytes) -> None:
        if status == 429:
            self.send_response(status)
            self.send_header("retry-after", "1")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            super().answer(status, content)


class _Judge(BaseHTTPRequestHandler):
    """Serves its model, and never answers a question."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = json.dumps({"object": "list", "data": [{"id": "slow", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        server: Any = self.server
        server.closing.wait()
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class Troubles:
    """Opened by `opened`. The gateway keeps its address over restarts."""

    def __init__(self, gateway: Served, proxy: Refusing) -> None:
        self.gateway = gateway
        self.proxy = proxy

    @contextmanager
    def case(self, case: Case) -> Iterator[str]:
        """The address to ask while this goes wrong. The gateway is away as the question comes."""
        self.proxy.asked, self.proxy.refusals = 0, case.refusals
        if not case.restarts:
            yield self.proxy.url
            return
        self.gateway.stop()
        back = Timer(AWAY_S, self.gateway.start)
        back.start()
        yield self.gateway.url
        back.join()
        self.gateway.wait()


@contextmanager
def opened() -> Iterator[Troubles]:
    judge: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Judge)
    judge.daemon_threads = True
    judge.closing = Event()
    Thread(target=judge.serve_forever, daemon=True).start()
    gateway = Served(HERE / "trouble-configs", {"SLOW_JUDGE": f"http://127.0.0.1:{judge.server_address[1]}"})
    try:
        with Refusing(gateway.url) as proxy:
            yield Troubles(gateway, proxy)
    finally:
        judge.closing.set()
        judge.shutdown()
        judge.server_close()
        gateway.stop()
