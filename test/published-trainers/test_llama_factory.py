"""LLaMA-Factory's PPO asks for a mini batch; it sends no labels, so the gateway looks them up by prompt."""

import pytest

import tiny
from published import published
from served import Served

ppo_utils = published("llamafactory.train.ppo.ppo_utils", "llamafactory.train.ppo")
tokens = tiny.tokenizer()


def rewarded(gateway: Served, *turns: tuple[str, str]) -> list[float]:
    return asked(gateway.url, "answer", *turns)


def asked(url: str, reward: str, *turns: tuple[str, str]) -> list[float]:
    messages = [
        tokens.apply_chat_template(
            [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], tokenize=False
        )
        for question, answer in turns
    ]
    return ppo_utils.get_rewards_from_server(f"{url}/wire/llama-factory/{reward}", messages).tolist()


def test_a_batch_keeps_its_order_whatever_its_rows_are(gateway: Served) -> None:
    turns = [("2+2?", answer) for answer in ("4", "throw", "slow", "5")] + [("3+3?", "6")]
    assert rewarded(gateway, *turns) == [1, 0, 0.5, 0, 1]


def test_what_hangs_or_has_no_label_is_the_chosen_number(gateway: Served) -> None:
    assert rewarded(gateway, ("2+2?", "never"), ("2+2?", "4"), ("9+9?", "18")) == [0, 1, 0]


def test_a_batch_beyond_a_requests_limit_raises(gateway: Served) -> None:
    """It posts its batch whole, and reads no error."""
    with pytest.raises(KeyError, match="scores"):
        rewarded(gateway, *[("2+2?", "4"), ("2+2?", "4" * (16 << 20))])


def test_the_same_bytes_are_scored_once(gateway: Served) -> None:
    scored = gateway.metric("samples_total", reward="answer")
    assert rewarded(gateway, ("3+3?", "7")) == rewarded(gateway, ("3+3?", "7")) == [0]
    assert gateway.metric("samples_total", reward="answer") == scored + 1
