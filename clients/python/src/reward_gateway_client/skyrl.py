"""SkyRL: `skyrl_gym.register(id="reward-gateway", entry_point="reward_gateway_client.skyrl:RewardGatewayEnv")`; the
gateway and the reward come from the environment's config (`url`, `reward`) or the process's environment."""

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from .result import floats_of, number_of
from .sample import sample_of
from .settings import reward_or_env
from .shared import score_shared_sync


class RewardGatewayEnv(BaseTextEnv):
    """An environment with one turn, which returns the answer's reward. SkyRL needs a number: a sample without a reward
    gets the rm-config's `on_invalid`; without one, `step` raises, which ends the run."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        settings = env_config or {}
        self._url = settings.get("url")
        self._reward = reward_or_env(settings.get("reward"))
        self._row = dict(extras or {})
        self._row.pop("max_turns", None)
        self._truth = (self._row.pop("reward_spec", None) or {}).get("ground_truth")
        self._prompt: Any = ""
        self._metrics: dict[str, float] = {}

    def init(self, prompt: Any) -> tuple[Any, dict[str, Any]]:
        self._prompt = prompt
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        row = {**self._row, "ground_truth": self._truth}
        sample = sample_of(self._prompt, action, row, "ground_truth")
        (result,) = score_shared_sync([sample], url=self._url, reward=self._reward)
        self._metrics = {**floats_of(result), "invalid": float(not result.valid)}
        return BaseTextEnvStepOutput(
            observations=[], reward=number_of(result), done=True, metadata={}, postprocessed_action=None
        )

    def get_metrics(self) -> dict[str, Any]:
        """The terms of the last answer, which SkyRL averages over episodes."""
        return self._metrics
