"""AReaL: name a workflow of `reward_gateway_client.areal_workflow`. For rules alone,
`RLVRWorkflow(reward_fn="reward_gateway_client.areal.gateway_reward")` serves too. The gateway and the reward come from
the environment, which AReaL's processes inherit."""

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from .result import reward_of
from .sample import STATUS_OF_STOP, Sample, sample_of
from .settings import reward_or_env, timeout_or_env
from .shared import score_shared, shared_gateway

_END_TOKENS = re.compile(r"(?:<\|[a-z_]{1,24}\|>|<｜[a-z▁]{1,32}｜>|</s>|<end_of_turn>|<eos>)\Z")

generated: ContextVar[Any] = ContextVar("generated", default=None)
"""The last response of AReaL's engine in a rollout. Its workflows pass on only the tokens of it."""


async def awaited_reward(prompt: Any, completions: Any, prompt_ids: Any, completion_ids: Any, **row: Any) -> float:
    """Raises for a sample without a reward, so that AReaL rejects the rollout. Waits at most REWARD_GATEWAY_TIMEOUT_S,
    600 s by default."""
    sample = _sample(prompt, completions, row)
    sample["tokens"] = {"prompt": len(prompt_ids), "response": len(completion_ids)}
    response = generated.get()
    if response is not None and response.output_tokens is completion_ids:
        if response.stop_reason in STATUS_OF_STOP:
            sample["status"] = STATUS_OF_STOP[response.stop_reason]
        versions = response.output_versions
        if versions:
            sample["policy_version"] = {"first": versions[0], "last": versions[-1]}
    (result,) = await score_shared([sample], reward=reward_or_env(None))
    return reward_of(result)


def gateway_reward(prompt: Any, completions: Any, prompt_ids: Any, completion_ids: Any, **row: Any) -> float:
    """Raises for a sample without a reward, so that AReaL rejects the rollout. **For rules only:** AReaL counts 15 s
    from the moment at which it queues the call for its few worker processes, and then trains with 0. This raises
    REWARD_GATEWAY_TIMEOUT_S (12 s by default) after a worker has begun, which is too late for calls that waited.
    """
    sample = _sample(prompt, completions, row)
    (result,) = shared_gateway().score([sample], reward=reward_or_env(None), timeout_s=timeout_or_env(None, 12))
    return reward_of(result)


def _sample(prompt: Any, completions: Any, row: Mapping[str, Any]) -> Sample:
    kept = {key: value for key, value in row.items() if key not in ("messages", "messages_chat", "prompt")}
    # The messages of a vision workflow are a rendered text; its chat messages name the places of images.
    asked = row.get("messages_chat") or row.get("messages") or prompt
    return sample_of(asked, without_end_tokens(completions), kept)


def without_end_tokens(text: str) -> str:
    """Removes the special tokens at the end, which AReaL decodes but which do not belong to the answer."""
    while True:
        shorter = _END_TOKENS.sub("", text.rstrip("\n")) if _END_TOKENS.search(text.rstrip("\n")[-48:]) else text
        if shorter == text:
            return text
        text = shorter
