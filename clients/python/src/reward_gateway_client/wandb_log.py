"""Adds the gateway's figures to the run of W&B that a trainer has open.

Nothing happens unless the trainer imported wandb in this process and opened a run. The figures go along with the
trainer's own next log (`commit=False`), so its steps stay as they are. REWARD_GATEWAY_WANDB=0 switches it off.
"""

import math
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from .result import Result


class StepFigures:
    """Figures of the results of one step of the trainer."""

    def __init__(self) -> None:
        self._rows = 0
        self._counts: dict[str, int] = {}
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, results: Iterable[Result]) -> None:
        for result in results:
            self._rows += 1
            if result.reward is None:
                self._count("invalid/share")
                self._count(f"invalid/{result.failure['kind'] if result.failure else 'unknown'}")
            else:
                self._observe("reward/mean", result.reward)
            if result.substitute is not None:
                self._count("substituted")
            for flag in result.flags:
                self._count(f"flags/{flag}")
            for name, term in result.terms.items():
                if term["status"] in ("failed", "off"):
                    self._count(f"terms/{name}/{term['status']}")
                self._observe(f"terms/{name}/mean", term["score"])
                for part, value in term["parts"].items():
                    self._observe(f"terms/{name}/parts/{part}/mean", value)

    def figures(self, prefix: str = "reward_gateway/") -> dict[str, float]:
        shares = {"invalid/share": 0, **self._counts}
        named: dict[str, float] = {name: count / max(1, self._rows) for name, count in shares.items()}
        named |= {name: total / count for name, (total, count) in self._sums.items()}
        return {prefix + name: value for name, value in {"rows": float(self._rows), **named}.items()}

    def _count(self, name: str) -> None:
        self._counts[name] = self._counts.get(name, 0) + 1

    def _observe(self, name: str, value: float | None) -> None:
        if value is None or not math.isfinite(value):
            return
        total, count = self._sums.get(name, (0.0, 0))
        self._sums[name] = (total + value, count + 1)


_lock = threading.Lock()
_open: tuple["weakref.ref[Any]", int, StepFigures] | None = None


def log_results(results: Sequence[Result]) -> bool:
    """Adds results to the figures of the open run's current step, and says whether there is such a run. Several batches
    of one step count together. It never raises: a log must not cost a reward."""
    global _open
    if not results or os.environ.get("REWARD_GATEWAY_WANDB", "1").strip().lower() in ("0", "false", "no", "off"):
        return False
    run: Any = getattr(sys.modules.get("wandb"), "run", None)
    if run is None:
        return False
    try:
        with _lock:
            step = int(run.step)
            if _open is None or _open[0]() is not run or _open[1] != step:
                _open = (weakref.ref(run), step, StepFigures())
            _open[2].add(results)
            run.log(_open[2].figures(), commit=False)
    except Exception:
        return False
    return True
