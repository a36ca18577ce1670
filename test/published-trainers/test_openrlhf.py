"""OpenRLHF's own executor asks the gateway for the reward of what a stand-in engine generates."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import tiny
from losing import Losing
from published import published
from served import Served

agent = published("openrlhf.utils.agent", "openrlhf.utils")
tokens = tiny.tokenizer()
prompt = tokens.apply_chat_template([{"role": "user", "content": "2+2?"}], tokenize=False, add_generation_prompt=True)


class Engine:
    """Says the response, then ends its turn."""

    def __init__(self, response: str) -> None:
        self.response = response

    async def generate(self, *_: Any, **__: Any) -> Any:
        ids = tokens(self.response + "<|im_end|>")["input_ids"]
        output = SimpleNamespace(token_ids=ids, text=self.response, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def rewarded(url: str, response: str, label: str = "4", reward: str = "answer") -> Any:
    executor = agent.SingleTurnAgentExecutor([f"{url}/wire/openrlhf/{reward}"])
    sampling = SimpleNamespace(max_tokens=64, logprobs=None)
    return asyncio.run(executor.execute(prompt, label, sampling, 256, tokens, Engine(response)))


def test_good_wrong_and_slow_answers(gateway: Served) -> None:
    for response, reward in (("4", 1), ("5", 0), ("slow", 0.5)):
        output = rewarded(gateway.url, response)
        assert (output["reward"], output["scores"]) == ([reward], [reward])
        assert output["extra_logs"] == {"answer": [reward], "answer_scored": [1], "invalid": [0]}


def test_what_has_no_reward_is_the_chosen_number_and_is_said_so(gateway: Served) -> None:
    for response in ("throw", "never"):
        output = rewarded(gateway.url, response)
        assert output["reward"] == [0]
        logs = output["extra_logs"]
        assert math.isnan(logs.pop("answer")[0])
        assert logs == {"answer_scored": [0], "invalid": [1]}


def test_a_retry_repeats_the_answer_and_is_scored_once(gateway: Served, losing: Losing) -> None:
    scored = gateway.metric("samples_total", reward="answer")
    assert rewarded(losing.url, "6", label="6")["reward"] == [1]
    assert list(losing.tries.values()) == [3]
    assert gateway.metric("samples_total", reward="answer") == scored + 1
