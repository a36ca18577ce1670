"""A file with the cursor of a run, for trainers that keep it apart from their checkpoints."""

import os
from contextlib import suppress
from pathlib import Path


def read_cursor(file: Path | None) -> str:
    """'' if there is no such file, or nothing in it."""
    with suppress(FileNotFoundError):
        return "" if file is None else file.read_text().strip()
    return ""


def write_cursor(file: Path, cursor: str) -> None:
    """A process that is killed meanwhile leaves the old cursor or the new one."""
    beside = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    beside.write_text(cursor)
    os.replace(beside, file)
