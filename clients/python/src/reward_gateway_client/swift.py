"""ms-swift: `--external_plugins FILE --reward_funcs gateway`, where FILE says `import reward_gateway_client.swift`. The
gateway and the reward come from the environment."""

from typing import Any

from swift.rewards import AsyncORM, orms

from .aio import AsyncRewardGateway
from .result import number_of
from .sample import sample_of
from .settings import reward_or_env

_NO_COLUMNS = frozenset(
    "prompt_id request_id finish_reason is_truncated rollout_infos response_token_ids trainer_state".split()
)


class Gateway(AsyncORM):
    """A sample without a reward gets the rm-config's `on_invalid`. Without one, scoring raises, because ms-swift would
    count None as 0."""

    def __init__(self, args: Any = None, **kwargs: Any) -> None:
        super().__init__(args, **kwargs)
        self._reward = reward_or_env(kwargs.get("reward"))
        self._url = kwargs.get("url")

    async def __call__(self, completions: list[str], messages: Any = None, **columns: Any) -> list[float]:
        step = getattr(columns.get("trainer_state"), "global_step", None)
        kept = {key: values for key, values in columns.items() if key not in _NO_COLUMNS}
        samples = [
            sample_of(
                messages[i][:-1] if messages else "",
                completion,
                {key: values[i] for key, values in kept.items()},
            )
            for i, completion in enumerate(completions)
        ]
        # ms-swift creates an event loop for each step, so connections cannot be kept.
        async with AsyncRewardGateway(self._url) as gateway:
            results = await gateway.score(samples, reward=self._reward, training_step=step)
        return [number_of(result) for result in results]


orms["gateway"] = Gateway
