"""TRL (GRPO, RLOO, AsyncGRPO) from version 0.27 on, and axolotl, Unsloth and open-r1, which use the same functions."""

import asyncio
import re
import warnings
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from inspect import isawaitable
from types import MethodType
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

_BESIDE = (
    "{count} of this batch have no reward, and TRL trains them with what {others} gives: pass such functions to"
    " gateway_rewards(beside=[...])"
)

_MOST_OPEN = 64
"""Batches that are kept for functions that have not asked yet. One that was pickled alone would never be read whole."""

RewardFunction = Callable[..., Awaitable[list[float | None]]]


def gateway_rewards(
    url: str | None = None,
    names: Sequence[str] = ("reward",),
    *,
    reward: str | None = None,
    api_key: str | None = None,
    truth: str | None = None,
    end_tokens: Collection[int] = (),
    beside: Sequence[Callable[..., Any]] = (),
    timeout_s: float | None = None,
    retries: float | None = None,
) -> list[RewardFunction]:
    """Returns one function per name, for `GRPOTrainer(reward_funcs=...)`. A batch needs one HTTP call, for any number
    of names.

    A name is a term of the reward, a part of one ('quality.depth') or 'reward' for the whole. Terms are not weighted,
    because TRL applies its own `reward_weights`. A sample that cannot be scored is None in every function, and TRL
    leaves it out; so is a term behind a closed gate. `truth` names the column of the ground truth (default: `solution`,
    `answer`, ...). With `end_tokens`, such as `(tokenizer.eos_token_id,)`, an answer that ends with none of them is
    sent as truncated. The share of samples without a reward is logged as `gateway/invalid`. Raises ImportError if the
    installed TRL is below 0.27, which cannot call async functions.

    A call without an answer is tried again for `timeout_s` (REWARD_GATEWAY_TIMEOUT_S, else 600), at most `retries`
    times (REWARD_GATEWAY_RETRIES, else without a limit).

    `beside`: reward functions of your own, or of another `gateway_rewards`. They follow in the list, and give None too
    where the gateway has no reward: TRL adds up what its functions give, and would train with theirs alone.
    """
    _require_async_functions()
    own = {_name_of(function): function for function in beside}
    if len(own) < len(beside) or not own.keys().isdisjoint(names):
        raise ValueError(f"the names of reward functions must differ: {', '.join([*names, *map(_name_of, beside)])}")
    readers = len(names) + len(own)
    batches = _Batches(url_or_env(url), api_key, reward_or_env(reward), truth, end_tokens, timeout_s, retries, readers)
    functions = _Functions(batches, names, own)
    return [getattr(functions, name) for name in (*names, *own)]


def _name_of(function: Any) -> str:
    if not callable(function) or hasattr(function, "forward"):
        raise TypeError("beside takes functions: TRL asks reward models itself")
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _require_async_functions() -> None:
    try:
        installed = version("trl")
    except PackageNotFoundError:
        return
    numbers = re.match(r"(\d+)\.(\d+)", installed)
    if numbers and (int(numbers[1]), int(numbers[2])) < _FIRST_ASYNC:
        raise ImportError(f"TRL {installed} cannot call async reward functions: install trl>=0.27")


class _Functions:
    """The functions are methods of this, by name. TRL's asynchronous GRPO sends them to another process, which a
    closure cannot follow: pickle asks a method's object for its name."""

    def __init__(self, batches: "_Batches", names: Sequence[str], own: Mapping[str, Callable[..., Any]]) -> None:
        self._batches = batches
        self._first = next(iter(names), None)
        self._own = dict(own)
        self._has_warned = False

    def __getattr__(self, name: str) -> RewardFunction:
        if name.startswith("__") or name in ("_batches", "_first", "_own", "_has_warned"):
            raise AttributeError(name)

        async def term(self: _Functions, prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
            return await self._score(name, prompts, completions, **columns)

        async def own(self: _Functions, prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
            return await self._beside(self._own[name], prompts, completions, columns)

        function = own if name in self._own else term
        function.__name__ = function.__qualname__ = name
        return MethodType(function, self)

    async def _score(
        self, name: str, prompts: Any, completions: Any, log_metric: Any = None, **columns: Any
    ) -> list[float | None]:
        results = await self._batches.results(prompts, completions, columns)
        if name == self._first and log_metric is not None and results:
            invalid = sum(not result.valid for result in results)
            log_metric("gateway/invalid", invalid / len(results))
            if invalid:
                self._warn(invalid, getattr(log_metric, "__self__", None))
        return [result.score(name) for result in results]

    async def _beside(
        self, function: Callable[..., Any], prompts: Any, completions: Any, columns: dict[str, Any]
    ) -> list[float | None]:
        async def called() -> Sequence[float | None]:
            given: Any = await asyncio.to_thread(function, prompts=prompts, completions=completions, **columns)
            rewards: Sequence[float | None] = await given if isawaitable(given) else given
            return rewards

        results, given = await asyncio.gather(self._batches.results(prompts, completions, dict(columns)), called())
        if len(given) != len(results):
            return list(given)  # TRL says what is wrong
        return [value if result.valid else None for result, value in zip(results, given, strict=True)]

    def _warn(self, invalid: int, trainer: Any) -> None:
        """`trainer`: whose method `log_metric` is; None where it is none."""
        functions = getattr(trainer, "reward_funcs", None) or ()
        others = [function for function in functions if getattr(function, "__self__", None) is not self]
        if others and not self._has_warned:
            self._has_warned = True
            names = ", ".join(getattr(other, "__name__", type(other).__name__) for other in others)
            warnings.warn(_BESIDE.format(count=invalid, others=names), stacklevel=1)


class _Batches:
    """The open batches, by the list of completions, which all functions of a batch get."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        reward: str,
        truth: str | None,
        end_tokens: Collection[int],
        timeout_s: float | None,
        retries: float | None,
        readers: int,
    ) -> None:
        self._settings = (url, api_key, reward, truth, end_tokens, timeout_s, retries, readers)
        self._url = url
        self._api_key = api_key
        self._reward = reward
        self._truth = truth
        self._end_tokens = frozenset(end_tokens)
        self._timeout_s = timeout_s
        self._retries = retries
        self._readers = readers
        self._has_warned = False
        # Holds the list itself, because the id of a freed list may be reused.
        self._open: dict[int, tuple[Any, asyncio.Task[list[Result]], int]] = {}

    def __reduce__(self) -> Any:
        return _Batches, self._settings

    async def results(self, prompts: Any, completions: Any, columns: dict[str, Any]) -> list[Result]:
        key = id(completions)
        _, task, readers = self._open.pop(key, (None, None, self._readers))
        if task is None:
            if len(self._open) >= _MOST_OPEN:
                self._open = {other: kept for other, kept in self._open.items() if not kept[1].done()}
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
        gateway = shared_async_gateway(self._url, self._api_key, retries=self._retries)
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
