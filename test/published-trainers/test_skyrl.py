"""SkyRL makes the environment by its name and steps it."""

from typing import Any

import pytest
import skyrl_gym
from reward_gateway_client import Unscorable

from losing import Losing
from served import Served

skyrl_gym.register(id="reward-gateway", entry_point="reward_gateway_client.skyrl:RewardGatewayEnv")


def stepped(url: str, answer: str, label: str | None = "4", reward: str = "answer") -> tuple[Any, Any]:
    extras = {"reward_spec": {"ground_truth": label, "method": "rule"}, "data_source": "sums", "max_turns": 1}
    env = skyrl_gym.make("reward-gateway", env_config={"url": url, "reward": reward}, extras=extras)
    env.init([{"role": "user", "content": "2+2?"}])
    return env.step(answer), env.get_metrics()


def test_good_slow_and_invalid_answers(gateway: Served) -> None:
    for answer, reward in (("4", 1), ("5", 0), ("slow", 0.5)):
        step, metrics = stepped(gateway.url, answer)
        assert (step["reward"], step["done"]) == (reward, True)
        assert metrics == {"answer": reward, "answer_scored": 1, "invalid": 0}
    with pytest.raises(Unscorable):
        stepped(gateway.url, "throw")


def test_a_retry_gets_the_answer(losing: Losing) -> None:
    assert stepped(losing.url, "10", label="10")[0]["reward"] == 1
    assert list(losing.tries.values()) == [3]
