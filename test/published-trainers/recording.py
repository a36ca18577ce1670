"""What a trainer's own code sends for one rollout, recorded by a server that pays 1 for anything."""

import base64
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

from PIL import Image

FIXTURES = Path(__file__).parents[1] / "fixtures/trainers/recorded"

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
QUESTION, THOUGHT, RESULT, ANSWER = "Which colour?", "I zoom in.", "a red square", "It is red."
CALL = {"name": "zoom", "arguments": {"at": [1, 2]}}
PROMPT = [{"role": "user", "content": QUESTION}]
TURNS = [
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": THOUGHT,
        "tool_calls": [{"id": "c1", "type": "function", "function": CALL}],
    },
    {"role": "tool", "name": "zoom", "tool_call_id": "c1", "content": RESULT},
    {"role": "assistant", "content": ANSWER},
]


def picture() -> Image.Image:
    return Image.open(BytesIO(PNG)).convert("RGB")


class Recorder(ThreadingHTTPServer):
    """Keeps the requests that it gets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.requests: list[dict[str, Any]] = []

    def __enter__(self) -> "Recorder":
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shutdown()
        self.server_close()

    def check(self, name: str, package: str, edition: str | None = None) -> None:
        """Compares the last request with the fixture of this name; RECORD=1 writes it. `edition`: of no package."""
        found = {"recorded": f"{package} {edition or version(package)}", **self.requests[-1]}
        file = FIXTURES / f"{name}.json"
        if os.environ.get("RECORD"):
            FIXTURES.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        assert shown(found) == shown(json.loads(file.read_text()))


def shown(value: Any) -> Any:
    """Images by their pixels, because encoders differ."""
    if isinstance(value, dict):
        return {key: shown(one) for key, one in value.items()}
    if isinstance(value, list):
        return [shown(one) for one in value]
    if isinstance(value, str) and value.startswith("data:image/"):
        image = Image.open(BytesIO(base64.b64decode(value.partition(",")[2])))
        return [image.size, image.convert("RGB").tobytes().hex()]
    return value


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.requests.append({"path": self.path, "body": body})
        content = json.dumps(_reply(self.path, body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _reply(path: str, body: Any) -> Any:
    if path == "/v1/score":
        rest = {"failure": None, "substitute": None, "terms": {}, "metrics": {}, "flags": []}
        results = [{"id": str(at), "reward": 1, "valid": True, **rest} for at in range(len(body["samples"]))]
        return {"results": results, "reward": {"name": body["reward"], "version": "1"}}
    if "query" in body:
        return {"rewards": [1] * len(body["query"]), "extra_logs": {}}
    if "/llama-factory/" in path:
        return {"scores": [1] * len(body["messages"])}
    return {"score": 1, "reward": 1, "is_score_valid": True, "metrics": {}, **body}
