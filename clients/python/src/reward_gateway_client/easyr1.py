"""EasyR1: `worker.reward.reward_function=FILE:compute_score`, where FILE says
`from reward_gateway_client.easyr1 import REWARD_NAME, REWARD_TYPE, compute_score`; arguments as
`worker.reward.reward_function_kwargs` or in the environment."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .plain import to_json
from .result import floats_of, number_of
from .sample import Sample, sample_of
from .settings import reward_or_env
from .shared import shared_gateway

REWARD_NAME = "gateway"
REWARD_TYPE = "batch"


def compute_score(
    reward_inputs: Sequence[Mapping[str, Any]],
    url: str | None = None,
    api_key: str | None = None,
    reward: str | None = None,
    timeout_s: float | None = None,
    **_: Any,
) -> list[dict[str, float]]:
    """`overall` is the reward. Each term adds `<term>` and `<term>_scored`. EasyR1 has no invalid state: a sample
    without a reward gets the rm-config's `on_invalid`; without one, this raises."""
    samples = [_sample(row) for row in reward_inputs]
    results = shared_gateway(url, api_key).score(samples, reward=reward_or_env(reward), timeout_s=timeout_s)
    return [{**floats_of(result), "overall": number_of(result)} for result in results]


def carrying_prompt(ground_truth: Any, prompt: Any, **fields: Any) -> str:
    """A value for the data set's column of ground truths that also carries the prompt (text or messages). EasyR1 passes
    nothing else to a reward, and judges and rewards that compare answers need it. `fields` are others of a sample:
    `data_source`, `rm_prompt`, `extra_info`."""
    return to_json({"ground_truth": ground_truth, "prompt": prompt, **fields}).decode()


def _sample(row: Mapping[str, Any]) -> Sample:
    """EasyR1 sends neither prompt nor data source. A ground truth that is a JSON object with `ground_truth` may contain
    them."""
    carried = _object(row["ground_truth"])
    if "ground_truth" not in carried:
        sample: Sample = {"response": row["response"], "ground_truth": row["ground_truth"]}
    else:
        sample = sample_of(carried.pop("prompt", ""), row["response"], carried, "ground_truth")
    if "response_length" in row:
        sample["tokens"] = {"response": row["response_length"]}
    return sample


def _object(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
