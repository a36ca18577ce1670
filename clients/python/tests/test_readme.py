"""Runs the examples of the README, and of a trainer's page that needs no trainer."""

import json
import re
from pathlib import Path

import pytest

from conftest import Queued
from reward_gateway_client import RewardGateway, Sample

README = Path(__file__).parents[1] / "README.md"
EASYR1 = Path(__file__).parents[3] / "docs/trainers/easyr1.md"


def _blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)


BLOCKS = _blocks(README)


def test_the_first_example_prints_a_reward(gateway_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(BLOCKS[0].replace("http://gateway:8080", gateway_url))
    assert capsys.readouterr().out.startswith("1 True None {'rule': 1")


def test_results_are_streamed_as_shown(gateway_url: str) -> None:
    seen: dict[int, float | None] = {}
    samples: list[Sample] = [{"response": f"So it is\n#### {n}", "ground_truth": "42"} for n in (42, 41)]
    with RewardGateway(gateway_url, reward="gsm8k") as gateway:
        names = {"gateway": gateway, "samples": samples, "seen": seen}
        exec(BLOCKS[1].replace("...", "seen[index] = result.reward"), names)
    assert seen == {0: 1, 1: 0.1}


def test_rollouts_are_submitted_and_read_as_shown(
    queued: Queued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = [block for block in BLOCKS if "AsyncRun" in block]
    code = block.replace("http://gateway:8080", queued.url)
    exec(code, {})
    told = sorted(capsys.readouterr().out.splitlines())
    assert told == ["step-1/41 scored 0.1", "step-1/42 scored 1"]
    # The same rollouts again are the same, and the file says that their finals were read.
    exec(code, {})
    assert capsys.readouterr().out == ""


def test_a_ground_truth_carries_the_prompt_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = [block for block in _blocks(EASYR1) if "carrying_prompt" in block]
    exec(block)
    assert json.loads(capsys.readouterr().out) == {"ground_truth": "42", "prompt": "6 * 7?", "data_source": "sums"}


def test_a_rollout_with_an_image_is_scored_as_shown(gateway_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with RewardGateway(gateway_url, reward="gsm8k") as gateway:
        (block,) = [block for block in BLOCKS if "square.png" in block]
        exec(block.replace("square.png", "https://host/square.png"), {"gateway": gateway})
    assert capsys.readouterr().out.startswith("1 [")
