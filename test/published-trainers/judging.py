"""A judge that keeps what it is asked, and a gateway whose rewards ask it."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from served import HERE, Served


class Judge(ThreadingHTTPServer):
    """Says that each answer is right, and that of two the one with the larger number is better."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.questions: list[dict[str, str]] = []


class Judged:
    """Opened by `judged`. Its reward `agreed` asks about one answer, `ranked` about two to one prompt, and `short` is a
    rule that compares the answers to one prompt. `questions` has what the judge was shown, by title."""

    def __init__(self, served: Served, judge: Judge) -> None:
        self.served = served
        self.url = served.url
        self.questions = judge.questions


@contextmanager
def judged() -> Iterator[Judged]:
    judge = Judge()
    Thread(target=judge.serve_forever, daemon=True).start()
    served = Served(HERE / "judged-configs", {"JUDGE": judge.url})
    try:
        yield Judged(served, judge)
    finally:
        served.stop()
        judge.shutdown()
        judge.server_close()


def texts(question: str) -> dict[str, str]:
    """What stands in the places of a shipped judge's template, by their titles."""
    return {found[1]: found[3] for found in re.finditer(r"^([^\n]*):\n⟦(\w+)\n(.*?)\n\2⟧$", question, re.M | re.S)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "judge", "object": "model"}]})

    def do_POST(self) -> None:
        server: Any = self.server
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        shown = texts(asked["messages"][-1]["content"])
        server.questions.append(shown)
        said = "AB"[int(shown["Answer A"]) < int(shown["Answer B"])] if "Answer B" in shown else "1"
        message = {"role": "assistant", "content": said}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        self._answer({"id": "1", "object": "chat.completion", "model": "judge", "choices": choices})

    def _answer(self, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass
