"""Reads chunks of jobs from a socket, runs them, writes results until the socket closes."""

from __future__ import annotations

import asyncio
import importlib.machinery
import importlib.util
import json
import os
import signal
import socket
import sys
import time
import traceback
from types import ModuleType
from typing import Any

from .progress import Progress
from .shapes import Hooks, NotServable, Scorer, chosen, kind_of
from .steps import beating, run_stepped
from .truth import BadTruth
from .values import NoVerdict

Job = dict[str, Any]
Reply = dict[str, Any]
Waiting = tuple[int, Scorer, Any]

SOCKET = 3
PROGRESS = 4
SEND_AT = 262_144
# After so long a chunk is left to the gateway: what took so long may have others behind it.
CHUNK_S = 0.2
# What cancelled coroutines have to end.
GRACE_S = 0.5
# Held before any function is loaded, which may replace json's.
ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
DECODE = json.JSONDecoder().decode


class Host:
    """The functions of this process, each loaded when it is first needed."""

    def __init__(self, limit: float) -> None:
        self._files: dict[str, str] = {}
        self._limit = limit
        self._modules: dict[str, ModuleType | NotServable] = {}
        self._bound: dict[tuple[str, str], Scorer | Hooks] = {}
        self._cancelled: list[asyncio.Task[Any]] = []
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self.progress = Progress(PROGRESS)

    def begin(self, files: dict[str, str], texts: dict[str, str]) -> None:
        """Names the functions' files; what they and their own modules hold is what the gateway read."""
        self._files = files
        READ.update(texts)

    def chunk(self, number: int, jobs: list[Job]) -> tuple[list[Reply], list[float]]:
        """A reply and milliseconds for each job, or for the first ones where these take long.

        Asynchronous functions run side by side.
        """
        self.progress.begin(number)
        replies: list[Reply] = [{} for _ in jobs]
        durations = [0.0] * len(jobs)
        waiting: list[Waiting] = []
        until = 0.0
        for index, job in enumerate(jobs):
            if until and time.perf_counter() > until:
                replies = replies[:index]
                break
            self.progress.loading(index)
            begun = 0.0
            try:
                bound = self._prepare(job)
                begun = time.perf_counter()
                until = until or begun + CHUNK_S
                if job["type"] == "call":
                    self.progress.running(index)
                if isinstance(bound, Scorer) and bound.is_async and job["type"] == "call":
                    waiting.append((index, bound, bound.call(job["row"])))
                    continue
                replies[index] = self._answer(job, bound)
            except NotServable as error:
                replies[index] = {"refused": str(error)}
            except BadTruth as error:
                replies[index] = {"unfit": str(error)}
            except BaseException as error:  # sys.exit() in a reward function ends no process
                replies[index] = self._threw(job, error)
            durations[index] = (time.perf_counter() - begun) * 1000 if begun else 0.0
        if waiting:
            self._loop.run_until_complete(self._together(waiting, jobs, replies))
        self.progress.idle()
        return replies, durations[: len(replies)]

    @property
    def is_spoilt(self) -> bool:
        """A coroutine that was cancelled goes on, and would go on beside those of all later chunks."""
        return any(not task.done() for task in self._cancelled)

    def _prepare(self, job: Job) -> Scorer | Hooks | None:
        module = self._module(job["name"])
        if job["type"] == "describe":
            return None
        key = (job["name"], job["options"])
        if key not in self._bound:
            options = json.loads(job["options"])
            parts = list(options.get("parts") or [])
            if kind_of(module) == "model":
                self._bound[key] = Hooks(module, parts)
            else:
                function = chosen(module, options.get("function"))
                reads_json = options.get("truth") == "json"
                kwargs = dict(options.get("kwargs") or {})
                self._bound[key] = Scorer(function, kwargs, parts, reads_json=reads_json)
        return self._bound[key]

    def _module(self, name: str) -> ModuleType:
        if name not in self._modules:
            try:
                self._modules[name] = load(name, self._files[name])
            except BaseException:
                self._modules[name] = NotServable(
                    f"does not load: {traceback.format_exc(limit=-8)[-4000:]}"
                )
        module = self._modules[name]
        if isinstance(module, NotServable):
            raise module
        return module

    def _answer(self, job: Job, bound: Scorer | Hooks | None) -> Reply:
        if job["type"] == "describe":
            return {"kind": kind_of(self._module(job["name"]))}
        if job["type"] == "bind":
            return {"bound": True}
        if isinstance(bound, Hooks):
            if job["op"] == "preprocess":
                return {"question": bound.question(job["row"])}
            return {"verdict": bound.verdict(job["text"], job["row"])}
        assert bound is not None
        return {"verdict": bound.verdict(bound.call(job["row"]))}

    async def _together(
        self, waiting: list[Waiting], jobs: list[Job], replies: list[Reply]
    ) -> None:
        beat = asyncio.ensure_future(beating(self.progress))
        self._cancelled = []
        try:
            await asyncio.gather(*(self._one(*each, jobs, replies) for each in waiting))
            if self._cancelled:
                await asyncio.wait(self._cancelled, timeout=GRACE_S)
        finally:
            beat.cancel()

    async def _one(
        self, index: int, scorer: Scorer, coroutine: Any, jobs: list[Job], replies: list[Reply]
    ) -> None:
        task = asyncio.ensure_future(run_stepped(coroutine, index, self.progress))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._limit)
            if done:
                replies[index] = {"verdict": scorer.verdict(task.result())}
            else:  # asyncio.wait_for would wait for one that does not heed its cancellation
                task.cancel()
                self._cancelled.append(task)
                replies[index] = {"late": True}
        except BaseException as error:
            replies[index] = self._threw(jobs[index], error)

    def _threw(self, job: Job, error: BaseException) -> Reply:
        if isinstance(error, NoVerdict):
            return {"odd": str(error)}
        folder = os.path.dirname(self._files[job["name"]])
        place = ""
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename.startswith(folder):
                place = f" at {os.path.basename(frame.filename)}:{frame.lineno}"
        text = "".join(
            traceback.format_exception(type(error), error, error.__traceback__, limit=-8)
        )
        return {"threw": f"{type(error).__name__}{place}", "traceback": text[-4000:]}


# By path: what the gateway read with its configs, a character a byte. A file may have been edited since.
READ: dict[str, str] = {}


class ReadLoader(importlib.machinery.SourceFileLoader):
    """Takes a file's text as the gateway read it, and no byte code of another one."""

    def get_data(self, path: str) -> bytes:
        text = READ.get(path)
        return super().get_data(path) if text is None else text.encode("latin-1")

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        if path not in READ:
            return super().get_code(fullname)
        return self.source_to_code(self.get_data(path), path)


def find_in(root: str) -> Any:
    """Finds modules in a folder of functions and below it; elsewhere Python does."""
    loaders = (
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (ReadLoader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    )
    hook = importlib.machinery.FileFinder.path_hook(*loaders)

    def within(path: str) -> Any:
        if path != root and not path.startswith(root + os.sep):
            raise ImportError
        return hook(path)

    return within


def load(name: str, file: str) -> ModuleType:
    """Runs the file as a module; its folder is searched for what it imports."""
    folder = os.path.dirname(file)
    if folder not in sys.path:
        sys.path.insert(0, folder)
        sys.path_hooks.insert(0, find_in(folder))
        sys.path_importer_cache.clear()
    title = f"reward_function_{name}"
    spec = importlib.util.spec_from_file_location(title, file, loader=ReadLoader(title, file))
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    spec.loader.exec_module(module)
    return module


def limit_memory(megabytes: int) -> None:
    """Private memory; beyond it lies a MemoryError. Does nothing where that is unknown."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 1_048_576, megabytes * 1_048_576))
    except (ImportError, AttributeError, ValueError, OSError):
        pass


def main() -> None:
    """Serves until the socket is closed. The one argument is JSON: limit, memory."""
    settings = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for descriptor in (SOCKET, PROGRESS):
        os.set_inheritable(descriptor, False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    limit_memory(settings["memory_mb"])
    connection = socket.socket(fileno=SOCKET)
    reader = connection.makefile("rb")
    host = Host(settings["limit_s"])

    def send(text: str) -> None:
        data = text.encode()
        connection.sendall(len(data).to_bytes(4, "big") + data)

    def send_results(key: str, end: bool, replies: list[str], ms: list[float]) -> None:
        times = ",".join(f"{one:.4f}" for one in ms)
        state = "true" if end else "false"
        send(f'{{"key":"{key}","end":{state},"ms":[{times}],"results":[{",".join(replies)}]}}')

    try:
        send('"ready"')
        while len(head := reader.read(4)) == 4:
            message = DECODE(reader.read(int.from_bytes(head, "big")).decode())
            if "files" in message:
                host.begin(message["files"], message["texts"])
                continue
            replies, ms = host.chunk(message["chunk"], message["jobs"])
            begin, length, texts = 0, 0, [ENCODE(reply) for reply in replies]
            for at, text in enumerate(texts):  # the gateway must be able to read each message in a moment
                length += len(text)
                end = at == len(texts) - 1
                if length > SEND_AT or end:
                    send_results(message["key"], end, texts[begin : at + 1], ms[begin : at + 1])
                    begin, length = at + 1, 0
            if host.is_spoilt:
                break
    except ConnectionError:  # the gateway ended while there was something to read
        pass
    sys.stdout.flush()
    os._exit(0)
