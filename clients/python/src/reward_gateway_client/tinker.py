"""Tinker's cookbook: a builder of environment groups whose rewards are the gateway's. Return `GatewayGroupBuilder` from
`RLDataset.get_batch`; the gateway and the reward come from the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import tinker
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, StepResult

from .result import reward_of
from .sample import sample_of
from .settings import reward_or_env
from .shared import score_shared


class GatewayEnv(Env):  # type: ignore[misc]
    """One turn. Raises for a sample without a reward: with `rollout_error_tolerance=MinViableGroup()` the cookbook
    leaves that rollout out, with True it runs it again, by default the run ends."""

    def __init__(self, renderer: Any, prompt: Sequence[Any], row: Mapping[str, Any]) -> None:
        self._renderer = renderer
        self._prompt = list(prompt)
        self._row = row

    async def initial_observation(self) -> tuple[Any, Any]:
        return self._renderer.build_generation_prompt(self._prompt), self._renderer.get_stop_sequences()

    async def step(self, action: Sequence[int], *, extra: Mapping[str, Any] | None = None) -> StepResult:
        message, _ = self._renderer.parse_response(action)
        sample = sample_of(self._prompt, [message], self._row)
        sample["tokens"] = {"response": len(action)}
        if (extra or {}).get("stop_reason") == "length":
            sample["status"] = "truncated"
        (result,) = await score_shared([sample], reward=reward_or_env(None))
        return StepResult(
            reward=reward_of(result),
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._renderer.get_stop_sequences(),
            metrics={name: value for name, value in result.metrics.items() if value is not None},
        )


@dataclass(frozen=True)
class GatewayGroupBuilder(EnvGroupBuilder):  # type: ignore[misc]
    """`group_size` answers to a prompt of messages. The columns of `row` are those of a sample: `answer`, `level`."""

    renderer: Any
    prompt: Sequence[Any]
    row: Mapping[str, Any] = field(default_factory=dict)
    group_size: int = 8

    async def make_envs(self) -> Sequence[Env]:
        """The answers come one by one and say which of their group they are, for rewards that compare them."""
        group = {"group_id": uuid4().hex, "group_size": self.group_size}
        rows = [{**group, **self.row, "group_index": index} for index in range(self.group_size)]
        return [GatewayEnv(self.renderer, self.prompt, row) for row in rows]
