"""Writes the table of docs/trainer-failures.md: each trainer's own code, in a process of its own, meets each trouble.
`npm run generate` brings its cells into docs/trainers.

npm run test:trainers -- --table [PART OF A NAME ...]   only these rows are run again, the others stay."""

import re
import sys
from datetime import UTC, datetime
from typing import Any

from asking import Asked, asked_about
from callers import CALLERS, Caller
from served import ROOT
from troubles import CASES, Case, Troubles, opened

PAGE = ROOT / "docs/trainer-failures.md"
TABLE = re.compile(r"^\| trainer \| version \|.*\n(?:\|.*\n)+", re.M)


def row(name: str, caller: Caller, troubles: Troubles) -> list[str]:
    asking = Asked(name)
    today = datetime.now(UTC).date().isoformat()
    try:
        told = asking.hear()
        edition = told.get("version", "")
        if "skipped" in told:
            return [name, "", today, *["not run"] * len(CASES), told["skipped"].partition(":")[0]]
        ready = asking.hear()
        assert "ready" in ready, f"{name}: {ready}"
        return [name, edition, today, *(cell(case, asking, troubles) for case in CASES), caller.stand_ins]
    finally:
        asking.end()


def cell(case: Case, asking: Asked, troubles: Troubles) -> str:
    found = asked_about(case, asking, troubles)
    print(f"  {case.title}: {found}", file=sys.stderr)
    return shown(case, found, found["tries"])


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
    PAGE.write_text(TABLE.sub(lambda _: table, PAGE.read_text()))


def earlier() -> dict[str, list[str]]:
    (table,) = TABLE.findall(PAGE.read_text())
    lines = [line.strip("| \n").split(" | ") for line in table.splitlines()]
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
    main(sys.argv[1:])
