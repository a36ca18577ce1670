"""Writes the table of docs/trainer-failures.md: each trainer's own code, in a process of its own, meets each trouble.

npm run test:trainers -- --table [PART OF A NAME ...]   only these rows are run again, the others stay."""

import asyncio
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import pytest

from callers import ANSWER, CALLERS, Caller
from published import cloned
from served import ROOT
from troubles import CASES, Case, Troubles, opened

PAGE = ROOT / "docs/trainer-failures.md"
BEGIN, END = "<!-- table: npm run test:trainers -- --table -->\n", "<!-- end of table -->\n"
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
    except pytest.skip.Exception as skipped:
        return tell(skipped=str(skipped))
    time.sleep, asyncio.sleep = sleep, async_sleep  # type: ignore[assignment]
    tell(ready=True)
    for line in sys.stdin:
        case = json.loads(line)
        paused, is_short = 0.0, case["is_short"]
        try:
            found = {"value": call(case["url"], case["reward"], case["truth"])}
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
        command = [sys.executable, __file__, "--ask", name]
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


def row(name: str, caller: Caller, troubles: Troubles) -> list[str]:
    asking = Asked(name)
    today = datetime.now(UTC).date().isoformat()
    try:
        told = asking.hear()
        edition = told.get("version", "")
        if "skipped" in told:
            return [name, "", today, *["not run"] * len(CASES), f"no clone of {caller.clone}"]
        ready = asking.hear()
        assert "ready" in ready, f"{name}: {ready}"
        return [name, edition, today, *(cell(case, asking, troubles) for case in CASES), caller.stand_ins]
    finally:
        asking.end()


def cell(case: Case, asking: Asked, troubles: Troubles) -> str:
    is_short = case.refusals == 0 and not case.restarts
    with troubles.case(case) as url:
        truth = ANSWER if case.has_truth else None
        found = asking.ask(url=url, reward=case.reward, truth=truth, is_short=is_short)
    tries = 0 if case.restarts else troubles.proxy.asked
    print(f"  {case.title}: {found}, {tries} tries", file=sys.stderr)
    return shown(case, found, tries)


def shown(case: Case, found: dict[str, Any], tries: int) -> str:
    notes = [f"{tries} tries"] if tries > 1 else []
    if tries > 1 and found.get("is_short") and found["paused"] >= 1:
        notes.append(f"{found['paused']:.0f} s")
    rest = f" ({', '.join(notes)})" if notes else ""
    if "ended" in found:
        return "its process ends"
    if "raised" in found:
        return f"raises `{found['raised']}`{rest}"
    value = found["value"]
    if value is None or value != value:
        return ("`None`" if value is None else "NaN") + rest
    if isinstance(value, str):
        return value + rest
    if case.refusals or case.restarts:
        return ("right" if value == 1 else f"**{value}**") + rest
    return (f"{value}" if value == -0.5 else f"**{value}**") + rest


def write(rows: dict[str, list[str]]) -> None:
    head = ["trainer", "version", "run on", *(case.title for case in CASES), "stand-ins"]
    lines = [head, ["---"] * len(head), *(rows[name] for name in CALLERS if name in rows)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table}{END}{rest.partition(END)[2]}")


def earlier() -> dict[str, list[str]]:
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    lines = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {line[0]: [cell.strip() for cell in line] for line in lines if line[0] in CALLERS}


def main(parts: list[str]) -> None:
    chosen = [name for name in CALLERS if not parts or any(part.lower() in name.lower() for part in parts)]
    rows = earlier()
    with opened() as troubles:
        for name in chosen:
            print(name, file=sys.stderr)
            rows[name] = row(name, CALLERS[name], troubles)
    write(rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        asked(sys.argv[2])
    else:
        main(sys.argv[1:])
