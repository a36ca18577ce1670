"""ms-swift: `--external_plugins FILE --reward_funcs gateway`, where FILE says `import reward_gateway_client.swift`. The
gateway and the reward come from the environment."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from swift.rewards import AsyncORM, orms

from .aio import AsyncRewardGateway
from .result import number_of
from .sample import STATUS_OF_STOP, Sample, sample_of
from .settings import adapter_retries, reward_or_env

TOKENIZER = "REWARD_GATEWAY_TOKENIZER"

_NO_COLUMNS = frozenset(
    "prompt_id request_id finish_reason is_truncated rollout_infos response_token_ids trainer_state".split()
)


def _is_column(values: Any, count: int) -> bool:
    """ms-swift also passes what belongs to no answer, such as its trainer's state and tables of trajectories."""
    return isinstance(values, (list, tuple)) and len(values) >= count


def _token_ids(content: Any) -> list[int] | None:
    """What ms-swift's schedulers write over the text of every turn but the last; None for texts and parts."""
    if isinstance(content, dict):
        content = content.get("token_ids", content.get("input_ids"))
    is_ids = isinstance(content, (list, tuple)) and all(type(one) is int for one in content)
    return list(content) if is_ids else None


def _as_text(message: Any, decode: Callable[[list[int]], str]) -> Any:
    ids = _token_ids(message.get("content")) if message.get("role") == "assistant" else None
    if ids is None:
        return message
    if not ids:
        raise ValueError("a turn of the rollout has neither a text nor token ids: its engine returned none")
    return {**message, "content": decode(ids)}


def _sample(messages: Sequence[Any], completion: str, row: dict[str, Any]) -> Sample:
    """`messages` ends with the rollout: with as many turns of the assistant as its scheduler counted."""
    infos = row.get("rollout_infos") or {}
    turns = [at for at, message in enumerate(messages) if message.get("role") == "assistant"]
    first = turns[-min(int(infos.get("num_turns") or 1), len(turns))] if turns else len(messages)
    status = STATUS_OF_STOP.get(row.get("finish_reason") or "")
    if status is None and row.get("is_truncated"):
        status = "truncated"
    kept = {key: value for key, value in row.items() if key not in _NO_COLUMNS}
    sample = sample_of(messages[:first], messages[first:] or completion, kept)
    if status is not None:
        sample["status"] = status
    turns_ids = row.get("response_token_ids") or ()
    if turns_ids:
        sample["tokens"] = {"response": sum(len(ids) if isinstance(ids, (list, tuple)) else 1 for ids in turns_ids)}
    return sample


class Gateway(AsyncORM):
    """A sample without a reward gets the rm-config's `on_invalid`. Without one, scoring raises, because ms-swift would
    count None as 0."""

    def __init__(self, args: Any = None, **kwargs: Any) -> None:
        super().__init__(args, **kwargs)
        self._reward = reward_or_env(kwargs.get("reward"))
        self._url = kwargs.get("url")
        self._tokenizer: Any = kwargs.get("tokenizer")

    def _decode(self, ids: list[int]) -> str:
        if self._tokenizer is None:
            place = os.environ.get(TOKENIZER) or getattr(getattr(self, "args", None), "model_dir", None)
            if not place:
                raise ValueError(f"ms-swift gives earlier turns as token ids: set {TOKENIZER} to the policy's model")
            from transformers import AutoTokenizer

            self._tokenizer = AutoTokenizer.from_pretrained(place)
        return str(self._tokenizer.decode(ids, skip_special_tokens=True))

    async def __call__(self, completions: list[str], messages: Any = None, **columns: Any) -> list[float]:
        step = getattr(columns.get("trainer_state"), "global_step", None)
        columns = {key: values for key, values in columns.items() if _is_column(values, len(completions))}
        samples = [
            _sample(
                [_as_text(message, self._decode) for message in messages[i]] if messages else [],
                completion,
                {key: values[i] for key, values in columns.items()},
            )
            for i, completion in enumerate(completions)
        ]
        # ms-swift creates an event loop for each step, so connections cannot be kept.
        async with AsyncRewardGateway(self._url, retries=adapter_retries()) as gateway:
            results = await gateway.score(samples, reward=self._reward, training_step=step)
        return [number_of(result) for result in results]


orms["gateway"] = Gateway
