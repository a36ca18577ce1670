"""slime and miles: `--custom-rm-path reward_gateway_client.slime.reward`. Their own `remote_rm` shares 64 connections
(slime) or tries once (miles). It sends neither status nor token counts, and images only if the prompt is messages that
hold their addresses."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from .images import columns_of, with_media
from .result import Result, floats_of, number_of
from .sample import Sample, text_or_messages
from .settings import URL, queue_of_env, reward_or_env
from .shared import score_shared, shared_async_gateway

WIRE = "/wire/slime/"
_STATUS = {"completed": "completed", "truncated": "truncated", "aborted": "aborted", "failed": "env_error"}


async def reward(args: Any, sample: Any, **_: Any) -> Any:
    """The reward of a sample, or the rewards of a list of samples (`--group-rm`): numbers, or objects where
    `--reward-key` is set. A sample without a reward gets the rm-config's `on_invalid`; without one, this raises.

    `--rm-url http://gateway:8080/wire/slime/REWARD?template=qwen` sends each sample to that address, which takes
    rendered prompts apart. Without it, REWARD_GATEWAY_URL and REWARD_GATEWAY_REWARD say where to score, a list is
    one call whose answers may be compared, and images, token counts and weight versions go along. With
    REWARD_GATEWAY_QUEUE=1 and REWARD_GATEWAY_RUN, all samples share a few connections to the gateway's queue.
    """
    samples = list(sample) if isinstance(sample, (list, tuple)) else [sample]
    url = getattr(args, "rm_url", None) or ""
    keys = [key for key in (getattr(args, "reward_key", None), getattr(args, "eval_reward_key", None)) if key]
    if not samples:
        return []
    if WIRE in url:
        if queue_of_env():
            raise ValueError(f"the queue takes no address with {WIRE}: leave out --rm-url, and set {URL}")
        rewards: Sequence[Any] = await asyncio.gather(*(_by_wire(url, one, keys) for one in samples))
    else:
        sent = [_sample(one) for one in samples]
        results = await score_shared(sent, url=url or None, reward=reward_or_env(None))
        rewards = [_reply(result, keys) for result in results]
    return list(rewards) if isinstance(sample, (list, tuple)) else rewards[0]


def _reply(result: Result, keys: Sequence[str]) -> Any:
    number = number_of(result)
    if not keys:
        return number
    return {**floats_of(result), "invalid": float(not result.valid), **dict.fromkeys(keys, number)}


async def _by_wire(url: str, sample: Any, keys: Sequence[str]) -> Any:
    parts = urlsplit(url)
    query = parts.query
    if keys and "reward_key=" not in query and "shape=" not in query:
        query = f"{query}&shape=dict" if query else "shape=dict"
    body = {
        "prompt": text_or_messages(sample.prompt or ""),
        "response": sample.response,
        "label": sample.label,
        "status": sample.status.value,
        "metadata": sample.metadata or None,
    }
    gateway = shared_async_gateway(f"{parts.scheme}://{parts.netloc}{parts.path.partition(WIRE)[0]}")
    path = WIRE + parts.path.partition(WIRE)[2] + (f"?{query}" if query else "")
    answer = json.loads(await gateway.post(path, body))
    if keys and isinstance(answer, dict) and "score" in answer:
        return {**answer, **dict.fromkeys(keys, answer["score"])}
    return answer


def _sample(sample: Any) -> Sample:
    media, _ = columns_of({"multi_modal_data": getattr(sample, "multimodal_inputs", None)})
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    found: Sample = {
        "prompt": with_media(text_or_messages(sample.prompt or ""), media),
        "response": sample.response,
        "ground_truth": sample.label,
        "extra_info": metadata,
    }
    if sample.group_index is not None:
        found["group_id"] = sample.group_index
    status = _STATUS.get(sample.status.value)
    if status is not None:
        found["status"] = status
    if sample.response_length:
        found["tokens"] = {
            "response": sample.response_length,
            "prompt": max(len(sample.tokens) - sample.response_length, 0),
        }
    versions = sample.weight_versions
    if versions:
        found["policy_version"] = {"first": versions[0], "last": versions[-1]}
    return found
