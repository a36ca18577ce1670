"""Rewards of steps from a real gateway, at the tokens where their text ends."""

import pickle
import random
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from reward_gateway_client import RewardGateway, Unscorable, sampled_step_rewards, step_token_rewards
from reward_gateway_client.steps import step_score

PIECES = ["a", " ", ".", "\n", "\n\n", "\r\n\r\n", "\U0001f600", "e\u0301", "\u200d", "word"]


class Bytes:
    """A tokenizer of single bytes, so that a character may need several tokens. 0 is special."""

    all_special_ids = (0,)

    def __init__(self, *, is_fast: bool) -> None:
        self.is_fast = is_fast

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        ids, offsets = [], []
        for at, character in enumerate(text):
            for byte in character.encode():
                ids.append(byte + 1)
                offsets.append((at, at + 1))
        return {"input_ids": ids, "offset_mapping": offsets}

    def decode(self, ids: list[int], **_: Any) -> str:
        return bytes(token - 1 for token in ids if token).decode(errors="replace")


def test_rewards_stand_at_the_tokens_where_their_steps_end(gateway_url: str) -> None:
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    chance = random.Random(seed)
    texts = ["x" + "".join(chance.choices(PIECES, k=chance.randrange(40))) for _ in range(50)]
    with RewardGateway(gateway_url, reward="sentences") as gateway:
        results = gateway.score([{"response": text} for text in texts])
    for text, result in zip(texts, results, strict=True):
        steps = result.steps["paragraphs"]
        assert [step["end"] for step in steps] == ends_of(text)
        offsets, place = [(0, 0)], 0
        while place < len(text):
            width = chance.randrange(1, 6)
            offsets.append((place, min(len(text), place + width)))
            place += width
        offsets.append((0, 0))
        expected = [sum(step["value"] for step in steps if begin < step["end"] <= end) for begin, end in offsets]
        assert step_token_rewards(result, offsets) == expected, seed
        ids = [0, *Bytes(is_fast=True)(text)["input_ids"], 0]
        by_place = {len(text[: step["end"]].encode()): step["value"] for step in steps}
        sampled = [by_place.get(at, 0.0) for at in range(len(ids))]
        for is_fast in (True, False):
            assert sampled_step_rewards(result, Bytes(is_fast=is_fast), ids) == sampled, seed


def test_the_rest_of_a_reward_stands_at_the_last_token(gateway_url: str) -> None:
    turns = [
        {"role": "assistant", "content": "a\n\nb"},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": "é"},
    ]
    with RewardGateway(gateway_url, reward="sentences") as gateway:
        (result,) = gateway.score([{"response": turns}])
    tokenizer = Bytes(is_fast=True)
    tokens = [(tokenizer(text)["input_ids"], skipped) for text, skipped in ((" a\n\nb", 1), ("x", 0), ("é", 0))]
    score = pickle.loads(pickle.dumps(step_score(result, tokenizer, tokens)))
    # Half of 1/8 for b and of 2/8 for the last turn, whose character is two bytes.
    assert score == result.reward == 0.1875
    assert score.tokens == [0, 0, 0, 0, 0.0625, 0, 0, 0.125]
    more = replace(result, reward=1.1875)
    assert step_score(more, tokenizer, tokens).tokens[-1] == 1.125
    product = replace(result, terms={"paragraphs": {**result.terms["paragraphs"], "contribution": None}})
    with pytest.raises(ValueError, match="sum of its terms"):
        step_score(product, tokenizer, tokens)


def ends_of(text: str) -> list[int]:
    """Where the paragraphs with visible text end."""
    ends, begin = [], 0
    for found in [*re.finditer(r"(?:\r\n|\n)(?:[^\S\r\n]*(?:\r\n|\n))+", text), None]:
        end = found.start() if found else len(text)
        if re.search(r"[^\s\u0301\u200d]", text[begin:end]):
            ends.append(end)
        begin = found.end() if found else end
    return ends


def test_of_several_turns_one_is_named_and_what_has_no_steps_gets_zeros(gateway_url: str) -> None:
    turns = [
        {"role": "assistant", "content": "ab"},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": "cd\n\ne"},
    ]
    with RewardGateway(gateway_url, reward="sentences") as gateway:
        rollout, empty, broken = gateway.score([{"response": turns}, {"response": " "}, {"response": "throw"}])
        (other,) = gateway.score([{"response": "42", "ground_truth": "42"}], reward="gsm8k")
    with pytest.raises(ValueError, match="name one as `turn`"):
        step_token_rewards(rollout, [(0, 2)])
    assert step_token_rewards(rollout, [(0, 2), (2, 4), (4, 5)], turn=2) == [0.125, 0.0, 0.25]
    with pytest.raises(ValueError, match="no token"):
        step_token_rewards(rollout, [(9, 10)], turn=0)
    with pytest.raises(KeyError, match="paragraphs"):
        step_token_rewards(rollout, [], term="other")
    assert step_token_rewards(empty, [(0, 1)]) == [0.0]
    assert step_token_rewards(other, [(0, 1), (1, 2)]) == [0.0, 0.0]
    with pytest.raises(Unscorable):
        step_token_rewards(broken, [(0, 5)])
