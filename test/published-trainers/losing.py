"""A proxy that loses answers: each request is refused, then forwarded and its answer lost, then answered."""

import socket
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        server: Any = self.server
        with server.lock:
            tries = server.tries[body] = server.tries.get(body, 0) + 1
        if tries == 1:
            return self.answer(503, b'{"error": {"code": "RG_CLOSING", "message": "ending", "problems": []}}')
        status, content = server.forward(self.path, body, self.headers)
        if tries == 2:
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        return self.answer(status, content)

    def answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class Losing(ThreadingHTTPServer):
    """`tries` counts each body."""

    daemon_threads = True

    def __init__(self, gateway_url: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.gateway_url = gateway_url
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.tries: dict[bytes, int] = {}
        self.lock = Lock()

    def forward(self, path: str, body: bytes, headers: Any) -> tuple[int, bytes]:
        request = urllib.request.Request(f"{self.gateway_url}{path}", body, {"content-type": headers["content-type"]})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def __enter__(self) -> "Losing":
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()
        self.server_close()
