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
    return _at_sampled(steps_of(result, term, turn), tokenizer, ids, 0)


def _at_sampled(steps: Sequence[StepReward], tokenizer: Any, given: Sequence[int], skipped: int) -> list[float]:
    """`skipped`: how many characters of the tokens' text come before the turn's."""
    ids = [int(token) for token in given]
    rewards = [0.0] * len(ids)
    if not steps:
        return rewards
    text = tokenizer.decode(ids, skip_special_tokens=True)
    if steps[-1]["end"] + skipped > len(text):
        raise ValueError("a step ends beyond the tokens' text: are they those of its turn?")
    special = set(tokenizer.all_special_ids)
    plain = [at for at, token in enumerate(ids) if token not in special]
    begins = _begins(tokenizer, text, [ids[at] for at in plain])
    for step in steps:
        end = step["end"] + skipped
        if begins is not None:
            at = plain[bisect_left(begins, end) - 1]
        else:
            low, high = 1, len(ids)
            while low < high:
                middle = (low + high) // 2
                if tokenizer.decode(ids[:middle], skip_special_tokens=True).startswith(text[:end]):
                    high = middle
                else:
                    low = middle + 1
            at = low - 1
        rewards[at] += step["value"]
    return rewards


def _begins(tokenizer: Any, text: str, ids: list[int]) -> list[int] | None:
    """Where each token begins in the text. None if the tokenizer cuts it into other tokens than these."""
    if not getattr(tokenizer, "is_fast", False):
        return None
    read = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
    return [int(begin) for begin, _ in read["offset_mapping"]] if list(read["input_ids"]) == ids else None


class StepScore(float):
    """A reward with its share for each token, which add up to it where the steps' term is their sum."""

    tokens: list[float]


def step_score(result: Result, tokenizer: Any, turns: Sequence[tuple[Sequence[int], int]]) -> StepScore:
    """The rewards of steps, times the weight of their term, at the tokens where they end, and the rest of the reward at
    the last token. `turns`: the tokens of each turn, and how many characters of their text come before the turn's.
    Raises Unscorable, and ValueError if the reward is not a sum of terms."""
    score = StepScore(reward_of(result))
    rest = float(score)
    rewards: list[list[float]] = [[0.0] * len(ids) for ids, _ in turns]
    for name, steps in result.steps.items():
        term = result.terms[name]
        if term["contribution"] is None:
            raise ValueError(
                "rewards of steps need a reward that is the sum of its terms, without formula or `op: mul`"
            )
        rest -= term["contribution"]
        for turn, (ids, skipped) in enumerate(turns):
            own = [step for step in steps if step["turn"] == turn]
            found = _at_sampled(own, tokenizer, ids, skipped)
            rewards[turn] = [had + term["weight"] * more for had, more in zip(rewards[turn], found, strict=True)]
    score.tokens = [reward for turn in rewards for reward in turn]
    score.tokens[-1] += rest
    return score
