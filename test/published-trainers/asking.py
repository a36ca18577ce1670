"""Each trainer's code in a process of its own, which is told a case and tells what came of it."""

import asyncio
import json
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from callers import ANSWER, CALLERS
from published import cloned
from troubles import Case, Troubles

SHORT_S = 0.02
"""The longest pause between tries of a request that no pause can repair. Its true length is added up."""


def asked(name: str) -> None:
    """The process of one trainer: answers each line of standard input, an address and a case, with what came of it."""
    real_sleep, real_async_sleep = time.sleep, asyncio.sleep
    paused = 0.0
    is_short = False

    def pause(seconds: float) -> float:
        nonlocal paused
        paused += seconds
        return min(seconds, SHORT_S) if is_short else seconds

    async def async_sleep(seconds: float, result: Any = None) -> Any:
        return await real_async_sleep(pause(seconds), result)

    def sleep(seconds: float) -> None:
        real_sleep(pause(seconds))

    caller = CALLERS[name]
    try:
        tell(version=version(caller.package) if caller.package else cloned(caller.clone))
        call = caller.open()
    except PackageNotFoundError:
        return tell(skipped=f"{caller.package} is not installed: it needs a newer Python")
    except pytest.skip.Exception as skipped:
        return tell(skipped=str(skipped))
    time.sleep, asyncio.sleep = sleep, async_sleep  # type: ignore[assignment]
    tell(ready=True)
    for line in sys.stdin:
        case = json.loads(line)
        paused, is_short = 0.0, case["is_short"]
        try:
            found = {"value": call(case["url"], case["reward"], case["truth"], case.get("said", ANSWER))}
        except Exception as error:
            found = {"raised": type(error).__name__}
        # Ray's driver pauses too, for its workers.
        tell(**found, paused=paused, is_short=is_short and "ray" not in sys.modules)
    return None


def tell(**fields: Any) -> None:
    print(f"TOLD {json.dumps(fields)}", flush=True)


class Asked:
    """The process of one trainer."""

    def __init__(self, name: str) -> None:
        self.name = name
        command = [sys.executable, __file__, name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("TOLD "):
                told: dict[str, Any] = json.loads(line[5:])
                return told
        return {"ended": self._process.wait()}

    def ask(self, **case: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return self.hear()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def asked_about(case: Case, asking: Asked, troubles: Troubles, wrong: bool = False) -> dict[str, Any]:
    """`value`, or `raised` with the exception's name, or `ended` if the process did; and the number of `tries`."""
    is_short = case.refusals == 0 and not case.restarts
    with troubles.case(case) as url:
        truth = ("wrong" if wrong else ANSWER) if case.has_truth else None
        found = asking.ask(url=url, reward=case.reward, truth=truth, is_short=is_short)
    return {**found, "tries": 0 if case.restarts else troubles.proxy.asked}


if __name__ == "__main__":
    asked(sys.argv[1])
