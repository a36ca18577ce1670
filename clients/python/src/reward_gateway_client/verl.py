"""verl: `reward.custom_reward_function.path=pkg://reward_gateway_client.verl`, with the gateway's `url` and `reward` as
`+reward.custom_reward_function.reward_kwargs.KEY=VALUE` or in the environment. RewardGatewayManager of
`verl_manager.py` also sends the prompt's messages."""

from collections.abc import Mapping
from typing import Any

from .result import Result, floats_of, number_of, reward_of
from .sample import Sample, text_or_messages
from .settings import reward_or_env
from .shared import score_shared

_ROW_COLUMNS = frozenset(
    "score acc reward uid data_source prompt raw_prompt reward_model extra_info ability index agent_name"
    " tools_kwargs interaction_kwargs num_turns timeout error".split()
)
"""Keys that verl itself writes into the same table as the entries of the dict."""

MASK, IMAGES = "rollout_mask", "rollout_images"
"""Fields of an agent loop's output by which `verl_agent` passes on what verl keeps from the reward."""


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    url: str | None = None,
    api_key: str | None = None,
    reward: str | None = None,
    prompt_key: str | None = None,
    unscorable: str = "raise",
    timeout_s: float | None = None,
    **_: Any,
) -> dict[str, float]:
    """verl passes no prompt: it is read from `extra_info[prompt_key]`, by default from `prompt` or `question`.

    `unscorable`: with 'raise', verl's default trainer leaves the sample out; 'substitute' returns the rm-config's
    `on_invalid`, for trainers that an exception would end (`trainer.use_v1=False`).
    """
    extra = dict(extra_info or {})
    prompt = extra.get(prompt_key) if prompt_key else extra.get("prompt", extra.get("question"))
    sample: Sample = {
        "prompt": text_or_messages("" if prompt is None else prompt),
        "response": solution_str,
        "ground_truth": ground_truth,
        "data_source": data_source,
        "extra_info": extra,
    }
    if (versions := policy_versions(extra)) is not None:
        sample["policy_version"] = versions
    (result,) = await score_shared(
        [sample], url=url, api_key=api_key, reward=reward_or_env(reward), timeout_s=timeout_s
    )
    return verl_score(result, unscorable)


def policy_versions(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """The versions of the policy that sampled the first and the last token. verl's agent loops write them among the
    fields of a trajectory, which verl merges into the `extra_info` of a function; None if they are not there."""
    first, last = fields.get("min_global_steps"), fields.get("max_global_steps")
    return None if last is None else {"first": last if first is None else first, "last": last}


def verl_score(result: Result, unscorable: str = "raise") -> dict[str, float]:
    """`score` and `acc` are the reward; each term adds `<term>` and `<term>_scored`. All samples of a reward have the
    same keys, as verl requires. A term with the name of one of verl's columns gets the suffix `_term`."""
    if unscorable not in ("raise", "substitute"):
        raise ValueError(f"unscorable must be 'raise' or 'substitute', not {unscorable!r}")
    score = reward_of(result) if unscorable == "raise" else number_of(result)
    metrics = {(f"{key}_term" if key in _ROW_COLUMNS else key): value for key, value in floats_of(result).items()}
    return {"score": score, "acc": score, **metrics}
