"""EasyR1's own data set, batches and reward manager, of a clone. They run in a process of their own, because EasyR1's
package has the name of verl's."""

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from reward_gateway_client.easyr1 import carrying_prompt

from judging import Judged, judged
from published import absent, clone, cloned, published

QUESTIONS = ["2+2?", "3+3?"]
TRUTHS = ["4", "6"]

Rewarded = Callable[[str, str, list[dict[str, Any]], list[list[str]]], list[float]]
"""Takes the gateway's address, the reward, rows with `problem` and `answer`, and the answers to each."""


def opened() -> Rewarded:
    cloned("EasyR1", first=True)
    absent("qwen_vl_utils")
    import torch
    from tensordict import TensorDict

    import tiny

    manager = published("verl.workers.reward.function", "verl.workers.reward").AutoRewardManager
    batches = importlib.import_module("verl.protocol").DataProto
    data = importlib.import_module("verl.utils.dataset")
    folder = Path(tempfile.mkdtemp())
    code = folder / "reward.py"
    code.write_text("from reward_gateway_client.easyr1 import REWARD_NAME, REWARD_TYPE, compute_score\n")
    tokens = tiny.tokenizer()

    def rewarded(url: str, reward: str, rows: list[dict[str, Any]], answers: list[list[str]]) -> list[float]:
        file = folder / "rows.json"
        file.write_text("\n".join(map(json.dumps, rows)))
        found = data.RLHFDataset(str(file), tokens, None, prompt_key="problem", filter_overlong_prompts=False)
        batch = batches.from_single_dict(data.collate_fn([found[at] for at in range(len(found))]))
        # What its trainer does with a batch and its rollouts.
        batch.pop(["input_ids", "attention_mask", "position_ids"], ["raw_prompt_ids"])
        batch = batch.repeat(len(answers[0]), interleave=True)
        ids = [tokens(answer)["input_ids"] for group in answers for answer in group]
        longest = max(map(len, ids))
        responses = torch.tensor([one + [0] * (longest - len(one)) for one in ids])
        mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in ids])
        rollouts = TensorDict({"responses": responses, "response_mask": mask}, batch_size=len(ids))
        config = SimpleNamespace(
            reward_function=str(code),
            reward_function_name="compute_score",
            reward_function_kwargs={"url": url, "reward": reward},
            skip_special_tokens=True,
        )
        tensor, _ = manager(config, tokens).compute_reward(batch.union(batches(batch=rollouts)))
        return [float(one) for one in tensor.sum(dim=1)]

    return rewarded


class Easyr1:
    """The process. It answers each line, what `Rewarded` takes, with the rewards, or with the name and the text of what
    EasyR1's reward call raises."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def rewarded(self, *asked: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        told = next(line for line in self._process.stdout if line.startswith("TOLD "))
        return json.loads(told[5:])

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def easyr1() -> Iterator[Easyr1]:
    clone("EasyR1")
    process = Easyr1()
    yield process
    process.end()


def rows(carry: bool) -> list[dict[str, Any]]:
    pairs = zip(QUESTIONS, TRUTHS, strict=True)
    return [{"problem": one, "answer": carrying_prompt(truth, one) if carry else truth} for one, truth in pairs]


@pytest.fixture(scope="module")
def gateway() -> Iterator[Judged]:
    with judged() as found:
        yield found


def test_a_judge_sees_the_prompt_that_the_ground_truth_carries(easyr1: Easyr1, gateway: Judged) -> None:
    gateway.questions.clear()
    answers = [["4", "5"], ["6", "7"]]
    assert easyr1.rewarded(gateway.url, "agreed", rows(carry=True), answers) == [1, 1, 1, 1]
    shown = [(one["Question"], one["Answer"]) for one in gateway.questions]
    expected = [(question, answer) for question, group in zip(QUESTIONS, answers, strict=True) for answer in group]
    assert sorted(shown) == expected


@pytest.mark.parametrize("reward", ["agreed", "ranked", "short"])
def test_rows_without_a_prompt_reach_no_judge_and_form_no_group(easyr1: Easyr1, gateway: Judged, reward: str) -> None:
    gateway.questions.clear()
    name, told = easyr1.rewarded(gateway.url, reward, rows(carry=False), [["4", "5"], ["6", "7"]])
    assert (name, "bad_sample" in told) == ("Unscorable", True)
    assert gateway.questions == []


def test_answers_are_compared_with_those_to_their_own_prompt(easyr1: Easyr1, gateway: Judged) -> None:
    gateway.questions.clear()
    answers = [["10", "30", "20"], ["400", "500", "600"]]
    found = easyr1.rewarded(gateway.url, "ranked", rows(carry=True), answers)
    assert found[0] < found[2] < found[1]
    assert found[3] < found[4] < found[5]
    shown = [(one["Question"], *sorted((one["Answer A"], one["Answer B"]))) for one in gateway.questions]
    groups = zip(QUESTIONS, answers, strict=True)
    pairs = [(question, *sorted(pair)) for question, group in groups for pair in combinations(group, 2)]
    assert sorted(shown) == sorted(pairs * 2), "each two in both orders"


def test_lengths_are_compared_in_the_tokens_that_easyr1_counts(easyr1: Easyr1, gateway: Judged) -> None:
    """The shortest right answer to a prompt gets 0.5 beside its 1, the longest 0.5 less."""
    answers = [["4", " 4 ", "wrong"], ["  6  ", "6", "six"]]
    assert easyr1.rewarded(gateway.url, "short", rows(carry=True), answers) == [1.5, 0.5, 0, 0.5, 1.5, 0]


def _main() -> None:
    rewarded = opened()
    for line in sys.stdin:
        try:
            told: Any = rewarded(*json.loads(line))
        except Exception as error:
            told = [type(error).__name__, str(error)]
        print(f"TOLD {json.dumps(told)}", flush=True)


if __name__ == "__main__":
    _main()
