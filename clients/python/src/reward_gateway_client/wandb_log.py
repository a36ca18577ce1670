"""Adds the gateway's figures to the run of W&B that a trainer has open.

Nothing happens unless the trainer imported wandb in this process and opened a run. The figures go along with the
trainer's own next log (`commit=False`), so its steps stay as they are. REWARD_GATEWAY_WANDB=0 switches it off.
"""

import json
import math
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any
from urllib.parse import urlencode

from .connection import Connections
from .result import Result
from .sample import SampleLike

CAUSES = ("rule", "line", "answer", "hung", "sandbox", "group", "parked", "gateway")
"""What the last reward of a step waits for: docs/stalls.md of the gateway."""


class Spread:
    """Quantiles of durations in little memory, right to 1 %."""

    _GROWTH = math.log(1.02)

    def __init__(self) -> None:
        self._bins: dict[int, int] = {}
        self._count = 0
        self._most = 0.0

    def add(self, value: float, count: int = 1) -> None:
        self._count += count
        self._most = max(self._most, value)
        bin_ = round(math.log(max(value, 0.001)) / self._GROWTH)
        self._bins[bin_] = self._bins.get(bin_, 0) + count

    def figures(self, name: str) -> dict[str, float]:
        """Nothing if nothing was added."""
        if self._count == 0:
            return {}
        return {f"{name}/p50": self._at(0.5), f"{name}/p95": self._at(0.95), f"{name}/max": self._most}

    def _at(self, share: float) -> float:
        left = share * self._count
        for bin_, count in sorted(self._bins.items()):
            left -= count
            if left <= 0:
                return min(self._most, math.exp(bin_ * self._GROWTH))
        return self._most


class StepFigures:
    """Figures of the results of one step of the trainer, named as `reward-gateway export` names them."""

    def __init__(self) -> None:
        self._rows = 0
        self._counts: dict[str, int] = {}
        self._sums: dict[str, tuple[float, int]] = {}
        self._ms = Spread()

    def add(
        self, results: Sequence[Result], samples: Iterable[SampleLike] = (), latency_s: float | None = None
    ) -> None:
        """The results of a call, the samples that it sent, and how long it took."""
        if latency_s is not None:
            self._ms.add(latency_s * 1000, len(results))
        for sample in samples:
            tokens = sample.get("tokens")
            if not isinstance(tokens, Mapping):
                continue
            for kind in ("prompt", "response"):
                if isinstance(count := tokens.get(kind), Real):
                    self._observe(f"rollout_tokens/{kind}/mean", float(count))
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
        named |= {
            f"{name.removesuffix('mean')}sum": total
            for name, (total, _) in self._sums.items()
            if name.startswith("rollout_tokens/")
        }
        named |= self._ms.figures("latency_ms")
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
_asked: tuple["weakref.ref[Any]", int, str] | None = None
"""The step of the open run in which the stalls of a run were asked for."""
_STALLS_S = 1.0
"""The longest that asking for stalls may take, once in each step."""


def _open_run() -> Any:
    """The run that the trainer has open; None if there is none, or it is not to be logged to."""
    if os.environ.get("REWARD_GATEWAY_WANDB", "1").strip().lower() in ("0", "false", "no", "off"):
        return None
    return getattr(sys.modules.get("wandb"), "run", None)


def log_results(results: Sequence[Result], samples: Iterable[SampleLike] = (), latency_s: float | None = None) -> bool:
    """Adds the results of a call to the figures of the open run's current step, and says whether there is such a run.
    Several batches of one step count together. It never raises: a log must not cost a reward."""
    global _open
    run: Any = _open_run() if results else None
    if run is None:
        return False
    try:
        with _lock:
            step = int(run.step)
            if _open is None or _open[0]() is not run or _open[1] != step:
                _open = (weakref.ref(run), step, StepFigures())
            _open[2].add(results, samples, latency_s)
            run.log(_open[2].figures(), commit=False)
    except Exception:
        return False
    return True


async def log_stalls(connections: Connections, name: str) -> None:
    """Adds what the last reward of the last training step waited for, in seconds by cause, to the open run: once in
    each of its steps. `name` is that of the gateway's run. It never raises."""
    global _asked
    run = _open_run()
    if run is None:
        return
    try:
        asked = (weakref.ref(run), int(run.step), name)
        with _lock:
            if _asked == asked:
                return
            _asked = asked
        async with connections.ask("GET", f"/v1/stalls?{urlencode({'run': name})}", _STALLS_S) as response:
            if response.status != 200:
                return
            steps = json.loads(await response.read())["steps"]
        if steps:
            run.log(stall_figures(steps[0]), commit=False)
    except Exception:
        return


def stall_figures(stall: Mapping[str, Any], prefix: str = "reward_gateway/stall_seconds") -> dict[str, float]:
    """Causes that took no time are 0, so that a line in a chart does not stay where it was."""
    seconds = dict.fromkeys(CAUSES, 0.0)
    for share in stall["shares"]:
        seconds[share["cause"]] = seconds.get(share["cause"], 0.0) + share["ms"] / 1000
    named = {f"{prefix}/{cause}": value for cause, value in seconds.items()}
    return {**named, prefix: stall["ms"] / 1000, **({} if stall["step"] is None else {f"{prefix}/step": stall["step"]})}
