"""Rewards of parts of a response, at the tokens where the parts end."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from .result import Result, StepReward, reward_of


def steps_of(result: Result, term: str | None = None, turn: int | None = None) -> list[StepReward]:
    """The steps of a term and of a turn, or of the only ones that have any. Empty if there are none, as for a response
    without text. Raises Unscorable if the sample has no reward, and ValueError if several terms or turns have steps."""
    reward_of(result)
    if term is not None and term not in result.terms:
        raise KeyError(f"the reward has no term {term!r}; it has {', '.join(result.terms)}")
    found = {name: steps for name, steps in result.steps.items() if term is None or name == term}
    if len(found) > 1:
        raise ValueError(f"several terms have steps, name one as `term`: {', '.join(found)}")
    steps = [step for steps in found.values() for step in steps if turn is None or step["turn"] == turn]
    if len({step["turn"] for step in steps}) > 1:
        raise ValueError("several turns have steps: name one as `turn`, with the offsets of its text")
    return steps


def step_token_rewards(
    result: Result, offsets: Sequence[Sequence[int]], *, term: str | None = None, turn: int | None = None
) -> list[float]:
    """One number per token: the reward of each step at the token of its last character, and 0 elsewhere.

    `offsets`: the `offset_mapping` of a fast tokenizer for the turn's text, as (begin, end) in characters. Tokens
    without characters, such as special ones, get 0. Steps that end in one token are added up.
    """
    rewards = [0.0] * len(offsets)
    tokens = [at for at, (begin, end) in enumerate(offsets) if end > begin]
    begins = [int(offsets[at][0]) for at in tokens]
    for step in steps_of(result, term, turn):
        before = bisect_left(begins, step["end"])
        if before == 0:
            raise ValueError("the offsets have no token for a step: are they those of the turn's text?")
        rewards[tokens[before - 1]] += step["value"]
    return rewards


def sampled_step_rewards(
    result: Result, tokenizer: Any, ids: Sequence[int], *, term: str | None = None, turn: int | None = None
) -> list[float]:
    """Like step_token_rewards, for the tokens that a policy sampled. A tokenizer may cut their text into other tokens;
    the reward of a step is then at the token with which its text is complete.

    `ids`: the tokens whose text, decoded without special tokens, is the text of the turn.
    """
    ids = [int(token) for token in ids]
    text = tokenizer.decode(ids, skip_special_tokens=True)
    special = set(tokenizer.all_special_ids)
    plain = [at for at, token in enumerate(ids) if token not in special]
    if getattr(tokenizer, "is_fast", False):
        read = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        if list(read["input_ids"]) == [ids[at] for at in plain]:
            found = step_token_rewards(result, read["offset_mapping"], term=term, turn=turn)
            rewards = [0.0] * len(ids)
            for at, reward in zip(plain, found, strict=True):
                rewards[at] = reward
            return rewards
    rewards = [0.0] * len(ids)
    for step in steps_of(result, term, turn):
        low, high = 1, len(ids)
        while low < high:
            middle = (low + high) // 2
            if tokenizer.decode(ids[:middle], skip_special_tokens=True).startswith(text[: step["end"]]):
                high = middle
            else:
                low = middle + 1
        if step["end"] > len(text):
            raise ValueError("a step ends beyond the tokens' text: are they those of its turn?")
        rewards[low - 1] += step["value"]
    return rewards
