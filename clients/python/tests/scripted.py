"""A loopback server with scripted responses."""

import json
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any

Answer = Callable[["Handler", dict[str, Any]], None]


def result(index: int, reward: float) -> dict[str, Any]:
    """A result in the form of the gateway."""
    return {
        "id": str(index),
        "reward": reward,
        "valid": True,
        "failure": None,
        "substitute": None,
        "terms": {},
        "metrics": {},
        "flags": [],
    }


def results(handler: "Handler", body: dict[str, Any]) -> None:
    """One result per sample, with the response as its reward."""
    rows = [result(i, float(sample["response"])) for i, sample in enumerate(body["samples"])]
    handler.send(200, {"results": rows, "reward": {"name": body["reward"], "version": "1"}})


def status(code: int, error: str = "RG_OVERLOADED", **headers: str) -> Answer:
    def answer(handler: "Handler", _: dict[str, Any]) -> None:
        problem = {"path": "samples[0]", "message": "what to do"}
        handler.send(code, {"error": {"code": error, "message": "no", "problems": [problem]}}, headers)

    return answer


def reset(handler: "Handler", _: dict[str, Any]) -> None:
    """Ends the connection without a response."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def half(handler: "Handler", body: dict[str, Any]) -> None:
    """Sends less than its Content-Length."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"results": [')
    reset(handler, body)


def silent(handler: "Handler", body: dict[str, Any]) -> None:
    """Sends nothing until the server is closed."""
    handler.server.closing.wait()  # type: ignore[attr-defined]
    reset(handler, body)


def lines(*rows: Any, whole: bool = True) -> Answer:
    """A stream of these rows. Unless `whole`, it breaks off in the middle of another row."""

    def answer(handler: "Handler", body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/x-ndjson")
        handler.send_header("connection", "close")
        handler.end_headers()
        for row in rows:
            handler.wfile.write(json.dumps(row).encode() + b"\n")
        if not whole:
            handler.wfile.write(b'{"index": 0, "id"')
        handler.close_connection = True

    return answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        raw = self.rfile.read(int(self.headers["content-length"]))
        lines = self.headers["content-type"] == "application/x-ndjson"
        body = {"lines": [json.loads(line) for line in raw.splitlines()]} if lines else json.loads(raw)
        server.requests.append({"headers": self.headers, "body": body, "raw": raw, "path": self.path})
        answer = server.answers.pop(0) if server.answers else results
        answer(self, body)

    def do_GET(self) -> None:
        server: Any = self.server
        server.requests.append({"headers": self.headers, "body": {}, "raw": b"", "path": self.path})
        answer = server.answers.pop(0) if server.answers else results
        answer(self, {})

    def send(self, code: int, body: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class ScriptedServer(ThreadingHTTPServer):
    """Uses `answers` in order, then `results`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self.closing = Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, Any]:
        self.connections += 1
        return super().get_request()

    def handle_error(self, *_: Any) -> None:
        """Ignores disconnected clients, which are part of the tests."""

    def __enter__(self) -> "ScriptedServer":
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
