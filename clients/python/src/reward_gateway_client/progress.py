"""A bar of tqdm for calls that take long."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from .result import Result


class Bar(AbstractContextManager["Bar"]):
    """Counts results, and shows the mean of the rewards so far and how many samples have none."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown
        self._sum = 0.0
        self._valid = 0
        self._invalid = 0

    def add(self, result: Result) -> None:
        if result.reward is None:
            self._invalid += 1
        else:
            self._valid += 1
            self._sum += result.reward
        mean = self._sum / self._valid if self._valid else 0.0
        self._shown.set_postfix_str(f"mean {mean:.3f}, {self._invalid} invalid", refresh=False)
        self._shown.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shown.close()


def bar_of(count: int) -> Bar:
    """Raises ImportError without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install 'reward-gateway-client[progress]'") from error
    return Bar(tqdm(total=count, unit=" samples"))
