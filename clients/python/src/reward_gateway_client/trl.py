"""TRL (GRPO, RLOO, AsyncGRPO) from version 0.27 on, and axolotl, Unsloth and open-r1, which use the same functions."""

import asyncio
import re
import warnings
from collections.abc import Awaitable, Callable, Collection, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .result import Result
from .sample import TRUTH_COLUMNS, sample_of
from .settings import reward_or_env, url_or_env
from .shared import shared_async_gateway

_NO_TRUTH = (
    "no row of this batch has a ground truth: name its column with gateway_rewards(truth=...); the default is the first"
    f" of {', '.join(TRUTH_COLUMNS)}"
)

_FIRST_ASYNC = (0, 27)
"""Earlier versions take the coroutine of an async function for its rewards."""

RewardFunction = Callable[..., Awaitable[list[float | None]]]


def gateway_rewards(
    url: str | None = None,
    names: Sequence[str] = ("reward",),
    *,
    reward: str | None = None,
    api_key: str | None = None,
    truth: str | None = None,
    end_tokens: Collection[int] = (),
    timeout_s: float = 600.0,
) -> list[RewardFunction]:
    """Returns one function per name, for `GRPOTrainer(reward_funcs=...)`. A batch needs one HTTP call, for any number
    of names.

    A name is a term of the reward, a part of one ('quality.depth') or 'reward' for the whole. Terms are not weighted,
    because TRL applies its own `reward_weights`. A sample that cannot be scored is None in every function, and TRL
    leaves it out; so is a term behind a closed gate. `truth` names the column of the ground truth (default: `solution`,
    `answer`, ...). With `end_tokens`, such as `(tokenizer.eos_token_id,)`, an answer that ends with none of them is
    sent as truncated. The share of samples without a reward is logged as `gateway/invalid`. Raises ImportError if the
    installed TRL is below 0.27, which cannot call async functions.
    """
    _require_async_functions()
    batches = _Batches(url_or_env(url), api_key, reward_or_env(reward), truth, end_tokens, timeout_s, len(names))
    return [_function(name, batches, logs=index == 0) for index, name in enumerate(names)]


def _require_async_functions() -> None:
    try:
        installed = version("trl")
    except PackageNotFoundError:
        return
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers and (int(numbers[1]), int(numbers[2])) < _FIRST_ASYNC:
        raise ImportError(f"TRL {installed} cannot call async reward functions: install trl>=0.27")


def _function(name: str, batches: "_Batches", *, logs: bool) -> RewardFunction:
    async def score(prompts: Any, completions: Any, log_metric: Any = None, **columns: Any) -> list[float | None]:
        results = await batches.results(prompts, completions, columns)
        if logs and log_metric is not None and results:
            log_metric("gateway/invalid", sum(not result.valid for result in results) / len(results))
        return [result.score(name) for result in results]

    score.__name__ = score.__qualname__ = name
    return score


class _Batches:
    """The open batches, by the list of completions, which all functions of a batch get."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        reward: str,
        truth: str | None,
        end_tokens: Collection[int],
        timeout_s: float,
        readers: int,
    ) -> None:
        self._url = url
        self._api_key = api_key
        self._reward = reward
        self._truth = truth
        self._end_tokens = frozenset(end_tokens)
        self._timeout_s = timeout_s
        self._readers = readers
        self._has_warned = False
        # Holds the list itself, because the id of a freed list may be reused.
        self._open: dict[int, tuple[Any, asyncio.Task[list[Result]], int]] = {}

    async def results(self, prompts: Any, completions: Any, columns: dict[str, Any]) -> list[Result]:
        key = id(completions)
        _, task, readers = self._open.pop(key, (None, None, self._readers))
        if task is None:
            task = asyncio.ensure_future(self._score(prompts, completions, columns))
        if readers > 1:
            self._open[key] = (completions, task, readers - 1)
        return await task

    async def _score(self, prompts: Any, completions: Any, columns: dict[str, Any]) -> list[Result]:
        if not completions:
            return []
        state = columns.pop("trainer_state", None)
        # TRL passes whatever a trainer knows; only columns have a value for each answer.
        kept = {
            name: values
            for name, values in columns.items()
            if name not in ("completion_ids", "log_extra", "environments")
            and isinstance(values, (list, tuple))
            and len(values) >= len(completions)
        }
        samples = [
            sample_of(prompt, completion, {key: values[i] for key, values in kept.items()}, self._truth)
            for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True))
        ]
        for sample, ids in zip(samples, columns.get("completion_ids") or (), strict=False):
            sample["tokens"] = {"response": len(ids)}
            if self._end_tokens and len(ids) > 0 and int(ids[-1]) not in self._end_tokens:
                sample["status"] = "truncated"
        gateway = shared_async_gateway(self._url, self._api_key)
        step = getattr(state, "global_step", None)
        results = await gateway.score(samples, reward=self._reward, training_step=step, timeout_s=self._timeout_s)
        if not self._has_warned and not any("ground_truth" in sample for sample in samples):
            failure = next(
                (one.failure for one in results if one.failure and one.failure["kind"] == "bad_sample"), None
            )
            if failure:
                self._has_warned = True
                warnings.warn(f"{_NO_TRUTH}. The gateway says: {failure['detail']}", stacklevel=1)
        return results
