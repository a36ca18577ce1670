"""verl, with the messages: `reward.reward_manager.source=importlib reward.reward_manager.name=RewardGatewayManager
reward.reward_manager.module.path=pkg://reward_gateway_client.verl_manager`; settings as
`+reward.reward_kwargs.KEY=VALUE` or in the environment."""

import json
import re
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from .images import columns_of, image_part, with_media
from .sample import Message, Sample, text_or_messages
from .settings import reward_or_env
from .shared import score_shared
from .steps import StepScore, step_score
from .verl import IMAGES, MASK, policy_versions, verl_score


class RewardGatewayManager(RewardManagerBase):
    """Makes one call for each finished trajectory. Needs neither a reward function nor `extra_info.question`."""

    def __init__(self, config: Any, tokenizer: Any, compute_score: Any = None, **_: Any) -> None:
        super().__init__(config, tokenizer, compute_score)
        settings = dict(config.reward.get("reward_kwargs") or {})
        self._url = settings.get("url")
        self._api_key = settings.get("api_key")
        self._reward = reward_or_env(settings.get("reward"))
        self._unscorable = settings.get("unscorable", "raise")
        limit_s = settings.get("timeout_s")
        self._timeout_s = None if limit_s is None else float(limit_s)
        self._steps = bool(settings.get("step_rewards", False))
        if not self._steps:
            return
        model = config.reward.reward_model
        if not model.enable or model.enable_resource_pool:
            raise ValueError(
                "step_rewards: verl scores while other rollouts go on, and then takes one number a rollout; it takes"
                " rewards of tokens only with reward.reward_model.enable=True and enable_resource_pool=False"
            )

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Scores the last sequence of a trajectory, decoded without padding and special tokens. With the response mask,
        its turns are told apart."""
        item = data[-1:][0]
        row = item.non_tensor_batch
        tokens = item.batch["responses"]
        seen = item.batch["attention_mask"]
        length = int(seen[-tokens.shape[-1] :].sum())
        fields = dict(row.get("tool_extra_fields") or {})
        mask = _mask_of(item.batch, fields, length)
        images = fields.pop(IMAGES, None) or []
        response = await self.loop.run_in_executor(None, lambda: self._turns(tokens[:length], mask, images))
        extra = dict(row.get("extra_info") or {})
        extra.update(fields)
        prompt = row.get("raw_prompt")
        asked = text_or_messages(extra.get("question", "") if prompt is None else prompt)
        media, _ = columns_of({"multi_modal_data": row.get("multi_modal_data")})
        sample: Sample = {
            "prompt": with_media(asked, media),
            "response": response,
            "ground_truth": row["reward_model"]["ground_truth"],
            "data_source": row.get("data_source"),
            "group_id": row.get("uid"),
            "extra_info": {**extra, "num_turns": row.get("__num_turns__")},
            "tokens": {"prompt": int(seen.sum()) - length, "response": length},
        }
        # verl cuts at the width of the batch. A response that ended by itself has its end token there.
        if 0 < length == tokens.shape[-1] and int(tokens[-1]) not in self.tokenizer.all_special_ids:
            sample["status"] = "truncated"
        if (versions := policy_versions(fields)) is not None:
            sample["policy_version"] = versions
        (result,) = await score_shared(
            [sample], url=self._url, api_key=self._api_key, reward=self._reward, timeout_s=self._timeout_s
        )
        score = verl_score(result, self._unscorable)
        reward = score["score"]
        if self._steps and result.valid:
            turns = partial(self._stretches, tokens[:length], mask)
            reward = await self.loop.run_in_executor(None, lambda: step_score(result, self.tokenizer, turns()))
        return {"reward_score": reward, "reward_extra_info": score}

    @classmethod
    def assemble_rm_scores(cls, data: Any, scores: list[float]) -> Any:
        """verl's tensor of rewards, with those of steps at their tokens."""
        rm_scores = super().assemble_rm_scores(data, scores)
        for row, score in zip(rm_scores, scores, strict=True):
            if isinstance(score, StepScore):
                row[: len(score.tokens)] = row.new_tensor(score.tokens)
        return rm_scores

    def _stretches(self, tokens: Any, mask: Sequence[int] | None) -> list[tuple[list[int], int]]:
        """The tokens of each of `_turns`, and how many characters of their text it leaves out at the start."""
        ids = [int(token) for token in tokens]
        if mask is None or all(mask):
            return [(ids, 0)]
        turns: list[tuple[list[int], int]] = []
        for _, stretch in groupby(range(len(mask)), mask.__getitem__):
            own = [ids[at] for at in stretch]
            text = self.tokenizer.decode(own, skip_special_tokens=True)
            turns.append((own, len(text) - len(text.lstrip())))
        return turns

    def _turns(self, tokens: Any, mask: Sequence[int] | None, images: Sequence[Any]) -> str | list[Message]:
        """The text, or one message for each stretch of the mask: what the policy sampled and what came from outside."""
        if mask is None or all(mask):
            return str(self.tokenizer.decode(tokens, skip_special_tokens=True))
        turns: list[Message] = []
        start = 0
        for sampled, stretch in groupby(mask):
            end = start + sum(1 for _ in stretch)
            text = self.tokenizer.decode(tokens[start:end], skip_special_tokens=True).strip()
            if not sampled:
                turns += _results(text)
            elif end < len(mask):
                turns.append(_called(text))
            else:
                turns.append({"role": "assistant", "content": text})
            start = end
        outside = next((turn for turn in turns if turn["role"] != "assistant"), None)
        if outside is not None and images:
            outside["content"] = [*map(image_part, images), {"type": "text", "text": outside["content"]}]
        return turns


_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.S)
_RESULT = re.compile(r"<tool_response>\n?(.*?)\n?</tool_response>", re.S)


def _called(text: str) -> Message:
    """A turn after which something came from outside, with its calls in the form `hermes`, verl's default. What verl
    cannot read as a call stays text."""
    calls: list[dict[str, Any]] = []

    def taken(match: re.Match[str]) -> str:
        try:
            call = json.loads(match[1])
            calls.append({"type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}})
        except (ValueError, KeyError, TypeError):
            return match[0]
        return ""

    said = _CALL.sub(taken, text).strip()
    return (
        {"role": "assistant", "content": said, "tool_calls": calls} if calls else {"role": "assistant", "content": text}
    )


def _results(text: str) -> list[Message]:
    """What came from outside: the results that a template of Qwen marks, or else all of it as one turn."""
    found = _RESULT.findall(text)
    return [{"role": "tool", "content": one} for one in found] or [{"role": "environment", "content": text}]


def _mask_of(batch: Any, fields: dict[str, Any], length: int) -> list[int] | None:
    """The response mask: of the batch, or what `verl_agent` put beside the tool's fields. None if neither has it."""
    sent = fields.pop(MASK, None)
    found = batch["response_mask"] if "response_mask" in batch.keys() else sent  # noqa: SIM118
    if found is None:
        return None
    return [int(one) for one in found[:length]]
