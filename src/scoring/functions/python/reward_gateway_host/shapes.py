"""The signatures that trainers call, and how a row becomes their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import values
from .chat import ChatText, PassingTokenizer
from .truth import read_truth

Row = dict[str, Any]
Function = Callable[..., Any]

# What a function of any signature may name among its arguments: what a function in TypeScript reads.
NAMED = (
    "turns",
    "tool_calls",
    "segments",
    "status",
    "tokens",
    "policy_version",
    "environment",
    "prompt",
    "rm_prompt",
    "rm_prompts",
    "group",
    "sample_id",
    "earlier",
)
# What a signature of hooks does not have, but a pair in TypeScript reads.
NAMED_BY_HOOKS = (*NAMED, "ground_truth", "data_source", "extra_info")

TRUTH_COLUMNS = ("ground_truth", "solution", "answer", "label", "labels", "target")
KNOWN = (
    "compute_score(data_source, solution_str, ground_truth, extra_info), "
    "reward_func(queries, prompts, labels), a function of (prompts, completions, **columns), "
    "or rm_preprocess(text_prompts, text_responses, tgt_tokenizer) with rm_postprocess(results)"
)


class NotServable(Exception):
    """The file, or a choice of one of its functions, cannot be served; the message says why."""


def kind_of(module: ModuleType) -> str:
    """'model' for a pair of hooks, 'rule' for scoring functions."""
    hooks = [callable(getattr(module, name, None)) for name in ("rm_preprocess", "rm_postprocess")]
    if all(hooks):
        return "model"
    if any(hooks):
        raise NotServable("rm_preprocess and rm_postprocess come together; one of them is missing")
    if not candidates(module):
        raise NotServable(f"none of its functions has a known signature: {KNOWN}")
    return "rule"


def candidates(module: ModuleType) -> dict[str, Function]:
    """Scoring functions that the file itself defines, or names `compute_score` or `reward_func`."""
    found: dict[str, Function] = {}
    for name, value in vars(module).items():
        if inspect.isclass(value) or not callable(value) or name.startswith("_"):
            continue
        own = getattr(value, "__module__", None) == module.__name__
        if name in ("compute_score", "reward_func") or (own and _shape(value) is not None):
            found[name] = value
    for name in ("compute_score", "reward_func"):
        if name in found:
            return {name: found[name], **found}
    return found


def chosen(module: ModuleType, name: str | None) -> Function:
    """The function that the options name, else the usual one, else the only one."""
    found = candidates(module)
    if name is not None:
        named = getattr(module, name, None)
        if not callable(named):
            raise NotServable(
                f"function: the file has no function '{name}'; it has {', '.join(found)}"
            )
        return named  # type: ignore[no-any-return]
    first = next(iter(found))
    if len(found) > 1 and first not in ("compute_score", "reward_func"):
        raise NotServable(f"function: name one of {', '.join(found)}")
    return found[first]


def _shape(function: Function) -> str | None:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    if "queries" in names:
        return "openrlhf"
    if "completions" in names:
        return "trl"
    return "verl" if "solution_str" in names else None


class Scorer:
    """One function with its keyword arguments: rows in, JSON verdicts out."""

    def __init__(
        self,
        function: Function,
        kwargs: dict[str, Any],
        parts: list[str],
        *,
        reads_json: bool = False,
    ) -> None:
        self._reads_json = reads_json
        self.is_async = inspect.iscoroutinefunction(function)
        self._function = function
        self._shape = _shape(function) or "verl"
        self._kwargs = kwargs
        self._parts = parts
        parameters = inspect.signature(function).parameters.values()
        self._names = {p.name for p in parameters}
        self._reads = [name for name in NAMED if name in self._names]
        self._takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        if self._shape == "verl":
            self._check(parameters)

    def _check(self, parameters: Any) -> None:
        given = {
            "data_source",
            "solution_str",
            "ground_truth",
            "extra_info",
            *NAMED,
            *self._kwargs,
        }
        plain = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        for p in parameters:
            if p.kind not in plain and p.default is p.empty and p.name not in given:
                raise NotServable(
                    f"kwargs: the function wants '{p.name}', which a sample does not have"
                )
        unknown = [name for name in self._kwargs if name not in self._names]
        if unknown and not self._takes_all:
            raise NotServable(f"kwargs: the function takes no '{unknown[0]}'")

    def call(self, row: Row) -> Any:
        """What the function returns; a coroutine where it is async. Raises BadTruth."""
        if self._reads_json:
            row = {**row, "ground_truth": read_truth(row["ground_truth"])}
        arguments = getattr(self, f"_{self._shape}")(row)
        for name in self._reads:
            item = field_of(row, name)
            arguments.setdefault(name, item if self._shape == "verl" else [item])
        if not self._takes_all:
            arguments = {name: item for name, item in arguments.items() if name in self._names}
        return self._function(**{**arguments, **self._kwargs})

    def verdict(self, result: Any) -> Any:
        """None only from a function of completions, where it means that the row does not count."""
        if self._shape == "verl":
            return values.verdict(result, self._parts)
        if isinstance(result, dict):
            logs = result.get("extra_logs")
            flat = {**result, **(logs if isinstance(logs, dict) else {})}
            flat.pop("extra_logs", None)
            return values.verdict(flat, self._parts, "rewards")
        one = values.only(result)
        return None if one is None and self._shape == "trl" else values.verdict(one, self._parts)

    @staticmethod
    def _verl(row: Row) -> dict[str, Any]:
        return {
            "data_source": row["data_source"],
            "solution_str": row["response"],
            "ground_truth": row["ground_truth"],
            "extra_info": row["extra_info"],
        }

    @staticmethod
    def _openrlhf(row: Row) -> dict[str, Any]:
        prompt = text_of(row["prompt"])
        return {
            "queries": [prompt + row["response"]],
            "prompts": [prompt],
            "labels": [row["ground_truth"]],
        }

    def _trl(self, row: Row) -> dict[str, Any]:
        response: Any = row["response"]
        if "turns" in row or isinstance(row["prompt"], list):
            response = field_of(row, "turns")
        columns = {name: [item] for name, item in row["extra_info"].items()}
        for name in TRUTH_COLUMNS:
            if name in self._names or name == "ground_truth":
                columns.setdefault(name, [row["ground_truth"]])
        return {**columns, "prompts": [row["prompt"]], "completions": [response]}


class Hooks:
    """A pair of hooks for a generative judge."""

    def __init__(self, module: ModuleType, parts: list[str]) -> None:
        self._preprocess = module.rm_preprocess
        self._postprocess = module.rm_postprocess
        self._asks_with = named_by(self._preprocess)
        self._reads_with = named_by(self._postprocess)
        self._parts = parts

    def question(self, row: Row) -> Any:
        prompt = row["rm_prompt"] if row["rm_prompt"] is not None else question_of(row["prompt"])
        asked = values.only(
            self._preprocess(
                [prompt],
                [row["response"]],
                PassingTokenizer(),
                **as_lists(row, self._asks_with),
            )
        )
        if isinstance(asked, ChatText):
            return {"kind": "chat", "messages": asked.messages}
        if isinstance(asked, str):
            return asked
        raise values.NoVerdict(f"rm_preprocess returned {type(asked).__name__}, not text")

    def verdict(self, text: str, row: Row) -> Any:
        one = values.only(self._postprocess([text], **as_lists(row, self._reads_with)))
        return None if one is None else values.verdict(one, self._parts)


def named_by(hook: Function) -> list[str]:
    """What a hook names beside the arguments of its signature."""
    names = inspect.signature(hook).parameters
    return [name for name in NAMED_BY_HOOKS if name in names]


def as_lists(row: Row, names: list[str]) -> dict[str, list[Any]]:
    """Fields of a sample as lists of one row."""
    return {name: [field_of(row, name)] for name in names}


def field_of(row: Row, name: str) -> Any:
    """A field of a sample. One text is one turn of the assistant; what was not sent is None."""
    if name in row:
        return row[name]
    if name == "turns":
        return [{"role": "assistant", "content": row["response"]}]
    return [] if name == "tool_calls" else None


def content_of(message: Any) -> str:
    """The text of a message: of a list of parts, that of its text parts."""
    content = message["content"]
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return str(content)


def text_of(prompt: Any) -> str:
    """A prompt as one text: of a conversation the contents, a line each."""
    if isinstance(prompt, str):
        return prompt
    return "".join(f"{content_of(message)}\n" for message in prompt)


def question_of(prompt: Any) -> str:
    """What was asked: of a conversation the last message of the user."""
    if isinstance(prompt, str):
        return prompt
    asked = [content_of(message) for message in prompt if message["role"] == "user"]
    return asked[-1] if asked else text_of(prompt)
