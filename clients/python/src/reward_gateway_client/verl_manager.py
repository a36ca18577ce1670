"""verl, with the messages: `reward.reward_manager.source=importlib reward.reward_manager.name=RewardGatewayManager
reward.reward_manager.module.path=pkg://reward_gateway_client.verl_manager`; settings as
`+reward.reward_kwargs.KEY=VALUE` or in the environment."""

from typing import Any

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from .sample import Sample, text_or_messages
from .settings import reward_or_env
from .shared import shared_async_gateway
from .verl import verl_score


class RewardGatewayManager(RewardManagerBase):
    """Makes one call for each finished trajectory. Needs neither a reward function nor `extra_info.question`."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        settings = dict(config.reward.get("reward_kwargs") or {})
        self._url = settings.get("url")
        self._api_key = settings.get("api_key")
        self._reward = reward_or_env(settings.get("reward"))
        self._unscorable = settings.get("unscorable", "raise")
        self._timeout_s = float(settings.get("timeout_s", 600.0))

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Scores the last sequence of a trajectory, decoded without padding and special tokens."""
        item = data[-1:][0]
        row = item.non_tensor_batch
        tokens = item.batch["responses"]
        length = int(item.batch["attention_mask"][-tokens.shape[-1] :].sum())
        response = await self.loop.run_in_executor(
            None, lambda: self.tokenizer.decode(tokens[:length], skip_special_tokens=True)
        )
        extra = dict(row.get("extra_info") or {})
        extra.update(row.get("tool_extra_fields") or {})
        prompt = row.get("raw_prompt")
        sample: Sample = {
            "prompt": text_or_messages(extra.get("question", "") if prompt is None else prompt),
            "response": response,
            "ground_truth": row["reward_model"]["ground_truth"],
            "data_source": row.get("data_source"),
            "group_id": row.get("uid"),
            "extra_info": {**extra, "num_turns": row.get("__num_turns__")},
        }
        gateway = shared_async_gateway(self._url, self._api_key)
        (result,) = await gateway.score([sample], reward=self._reward, timeout_s=self._timeout_s)
        score = verl_score(result, self._unscorable)
        return {"reward_score": score["score"], "reward_extra_info": score}
