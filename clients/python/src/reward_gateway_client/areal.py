"""AReaL: `RLVRWorkflow(reward_fn="reward_gateway_client.areal.gateway_reward")`; the gateway and the reward come from
the environment, which AReaL's worker processes inherit."""

import os
import re
from typing import Any

from .result import reward_of
from .sample import sample_of
from .settings import reward_or_env
from .shared import shared_gateway

TIMEOUT = "REWARD_GATEWAY_TIMEOUT_S"

_END_TOKENS = re.compile(r"(?:<\|[a-z_]{1,24}\|>|<｜[a-z▁]{1,32}｜>|</s>|<end_of_turn>|<eos>)\Z")


def gateway_reward(prompt: Any, completions: Any, prompt_ids: Any, completion_ids: Any, **row: Any) -> float:
    """Raises for a sample without a reward, so that AReaL rejects the rollout.

    AReaL gives up after 15 s and then trains with 0, so this raises after REWARD_GATEWAY_TIMEOUT_S, 12 by default. For
    slow judges use `AsyncRewardWrapper(gateway_reward, timeout_seconds=300)` in your own workflow, and 280 here.
    """
    kept = {key: value for key, value in row.items() if key not in ("messages", "messages_chat", "prompt")}
    # The messages of a vision workflow are a rendered text; its chat messages name the places of images.
    asked = row.get("messages_chat") or row.get("messages") or prompt
    sample = sample_of(asked, without_end_tokens(completions), kept)
    timeout_s = float(os.environ.get(TIMEOUT, "12"))
    (result,) = shared_gateway().score([sample], reward=reward_or_env(None), timeout_s=timeout_s)
    return reward_of(result)


def without_end_tokens(text: str) -> str:
    """Removes the special tokens at the end, which AReaL decodes but which do not belong to the answer."""
    while True:
        shorter = _END_TOKENS.sub("", text.rstrip("\n")) if _END_TOKENS.search(text.rstrip("\n")[-48:]) else text
        if shorter == text:
            return text
        text = shorter
