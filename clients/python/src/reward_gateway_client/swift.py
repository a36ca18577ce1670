"""ms-swift: `--external_plugins FILE --reward_funcs gateway`, where FILE says `import reward_gateway_client.swift`. The
gateway and the reward come from the environment."""

from collections.abc import Sequence
from typing import Any

from swift.rewards import AsyncORM, orms

from .aio import AsyncRewardGateway
from .result import number_of
from .sample import Sample, sample_of
from .settings import reward_or_env

_NO_COLUMNS = frozenset(
    "prompt_id request_id finish_reason is_truncated rollout_infos response_token_ids trainer_state".split()
)


def _is_column(values: Any, count: int) -> bool:
    """ms-swift also passes what belongs to no answer, such as its trainer's state and tables of trajectories."""
    return isinstance(values, (list, tuple)) and len(values) >= count


def _sample(messages: Sequence[Any], completion: str, row: dict[str, Any]) -> Sample:
    """`messages` ends with the rollout: with as many turns of the assistant as its scheduler counted."""
    infos = row.get("rollout_infos") or {}
    turns = [at for at, message in enumerate(messages) if message.get("role") == "assistant"]
    first = turns[-min(int(infos.get("num_turns") or 1), len(turns))] if turns else len(messages)
    status = "truncated" if row.get("finish_reason") == "length" or row.get("is_truncated") else None
    kept = {key: value for key, value in row.items() if key not in _NO_COLUMNS}
    sample = sample_of(messages[:first], messages[first:] or completion, kept)
    if status is not None:
        sample["status"] = status
    return sample


class Gateway(AsyncORM):
    """A sample without a reward gets the rm-config's `on_invalid`. Without one, scoring raises, because ms-swift would
    count None as 0."""

    def __init__(self, args: Any = None, **kwargs: Any) -> None:
        super().__init__(args, **kwargs)
        self._reward = reward_or_env(kwargs.get("reward"))
        self._url = kwargs.get("url")

    async def __call__(self, completions: list[str], messages: Any = None, **columns: Any) -> list[float]:
        step = getattr(columns.get("trainer_state"), "global_step", None)
        columns = {key: values for key, values in columns.items() if _is_column(values, len(completions))}
        samples = [
            _sample(messages[i] if messages else [], completion, {key: values[i] for key, values in columns.items()})
            for i, completion in enumerate(completions)
        ]
        # ms-swift creates an event loop for each step, so connections cannot be kept.
        async with AsyncRewardGateway(self._url) as gateway:
            results = await gateway.score(samples, reward=self._reward, training_step=step)
        return [number_of(result) for result in results]


orms["gateway"] = Gateway
