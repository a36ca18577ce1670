"""Adapters that score a batch at once, called as their trainers call them; `same` is 1 only where
prompt, ground truth and extra_info arrived."""

import asyncio
import pickle
import sys
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from asked import MESSAGES, PNG, PNG_URL, Run
from reward_gateway_client import Unscorable, easyr1, ray, trl
from scripted import ScriptedServer, result


def test_trl_asks_once_a_batch_and_none_means_invalid(run: Run, scripted: ScriptedServer, gateway_url: str) -> None:
    logged: dict[str, float] = {}
    arguments: dict[str, Any] = {
        "completion_ids": [[1], [1, 2], [1]],
        "trainer_state": SimpleNamespace(global_step=4),
        "log_extra": lambda *_: None,
        "log_metric": lambda name, value: logged.update({name: value}),
        "solution": ["7", "8", "7"],
        "level": [3, 3, 3],
    }
    completions = [[{"role": "assistant", "content": text}] for text in ("x", "x", "throw")]

    async def work() -> Any:
        names = ["reward", "score"]
        functions = trl.gateway_rewards(gateway_url, names, reward="same")
        assert [f.__name__ for f in functions] == names  # type: ignore[attr-defined]
        for _ in range(2):
            rewards = await asyncio.gather(*(f([MESSAGES] * 3, completions, **arguments) for f in functions))
            assert rewards == [[1, 0, None], [1, 0, None]]
        assert logged == {"gateway/invalid": 1 / 3}
        plain = trl.gateway_rewards(scripted.url, ["reward", "reward"], reward="r", truth="level", end_tokens=[1])
        batches = [["0.1", "0.2"], ["0.3"]]
        texts = [(["p"] * len(batch), batch) for batch in batches]
        columns = {**arguments, "solution": ["7", "8"], "level": [3, 3]}
        found = await asyncio.gather(*(f(*text, **columns) for text in texts for f in plain))
        assert found == [[0.1, 0.2], [0.1, 0.2], [0.3], [0.3]]

    run(work)
    assert len(scripted.requests) == 2
    first = max((request["body"] for request in scripted.requests), key=lambda body: len(body["samples"]))
    assert first == {
        "reward": "r",
        "samples": [
            {
                "prompt": "p",
                "response": text,
                "ground_truth": 3,
                "extra_info": {"solution": truth},
                "tokens": {"response": count},
                **({"status": "truncated"} if count == 2 else {}),
            }
            for text, truth, count in (("0.1", "7", 1), ("0.2", "8", 2))
        ],
        "training_step": 4,
    }


def test_trl_warns_once_if_no_row_has_the_ground_truth_that_the_reward_needs(run: Run, gateway_url: str) -> None:
    async def work() -> Any:
        (function,) = trl.gateway_rewards(gateway_url, reward="gsm8k")
        return [await function(["p"], ["#### 7"], completion_ids=[[1]]) for _ in range(2)]

    with pytest.warns(UserWarning, match=r"no row of this batch has a ground truth.*truth=") as caught:
        assert run(work) == [[None], [None]]
    assert len(caught) == 1


def paying(completions: list[Any], **_: Any) -> list[float | None]:
    return [0.5] * (len(completions) - 1) + [None]


async def short(completions: list[Any], **_: Any) -> list[float]:
    return [0.5]


def test_trl_s_other_functions_pay_nothing_where_the_gateway_has_no_reward(run: Run, gateway_url: str) -> None:
    async def work() -> Any:
        gateway = trl.gateway_rewards(gateway_url, reward="same", beside=[paying, partial(short), Paying()])
        # As TRL's asynchronous GRPO sends them to its worker.
        functions = pickle.loads(pickle.dumps(gateway))
        assert [function.__name__ for function in functions] == ["reward", "paying", "short", "Paying"]
        texts = ["x", "throw", "x"]
        asked = {"completion_ids": [[1]] * 3, "trainer_state": SimpleNamespace(global_step=1), "solution": ["x"] * 3}
        return await asyncio.gather(*(function(["p"] * 3, texts, **asked) for function in functions))

    assert run(work) == [[0, None, 0], [0.5, None, None], [0.5], [0.5, None, None]]
    for beside, error in (
        ([paying, paying], ValueError),
        (["a/model"], TypeError),
        ([SimpleNamespace(forward=1)], TypeError),
    ):
        with pytest.raises(error):
            trl.gateway_rewards(gateway_url, reward="same", beside=beside)  # type: ignore[arg-type]


class Paying:
    def __call__(self, completions: list[Any], **_: Any) -> list[float | None]:
        return paying(completions)


def test_trl_s_batches_are_not_kept_for_a_function_that_never_asks(run: Run, gateway_url: str) -> None:
    async def work() -> Any:
        reward, _ = trl.gateway_rewards(gateway_url, ["reward", "score"], reward="same")
        batches = reward.__self__._batches  # type: ignore[attr-defined]
        for _ in range(100):
            await reward(["p"], ["x"], completion_ids=[[1]])
        return len(batches._open)

    assert run(work) <= 64


def test_trl_sends_every_field_of_a_message(run: Run, scripted: ScriptedServer) -> None:
    call = {"type": "function", "function": {"name": "weather", "arguments": {"at": "Bonn"}}}
    prompt = [{"role": "user", "content": [{"type": "text", "text": "warm?", "image": None}], "tool_calls": None}]
    completion = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "name": "weather", "content": "25"},
        {"role": "assistant", "content": "0.5"},
    ]

    def answer(handler: Any, body: dict[str, Any]) -> None:
        handler.send(200, {"results": [result(0, 1)], "reward": {"name": body["reward"], "version": "1"}})

    scripted.answers = [answer]

    async def work() -> Any:
        (function,) = trl.gateway_rewards(scripted.url, reward="r")
        assert await function([prompt], [completion], solution=["7"]) == [1]

    run(work)
    (request,) = scripted.requests
    (sample,) = request["body"]["samples"]
    assert sample["prompt"] == [{"role": "user", "content": [{"type": "text", "text": "warm?", "image": None}]}]
    assert sample["response"] == [{"role": "assistant", "tool_calls": [call], "content": None}, *completion[1:]]


def test_trl_that_calls_no_async_functions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    installed = tmp_path / "trl-0.0.dist-info/METADATA"
    installed.parent.mkdir()
    for version in ("0.27.0", "1.0.0.dev0", "0.27rc1", "2"):
        installed.write_text(f"Metadata-Version: 2.1\nName: trl\nVersion: {version}\n")
        assert len(trl.gateway_rewards("http://127.0.0.1:9", reward="r")) == 1
    installed.write_text("Metadata-Version: 2.1\nName: trl\nVersion: 0.26.2\n")
    with pytest.raises(ImportError, match=r"TRL 0\.26\.2 .*trl>=0\.27"):
        trl.gateway_rewards("http://127.0.0.1:9", reward="r")


def test_easyr1_sends_a_batch_and_reads_what_the_ground_truth_carries(gateway_url: str) -> None:
    carried = easyr1.carrying_prompt("7", MESSAGES, data_source="math", extra_info={"level": np.int64(3)})
    inputs = [{"response": "x", "response_length": 1, "ground_truth": truth} for truth in (carried, "7", '{"a": 1}')]
    rows = easyr1.compute_score(inputs, url=gateway_url, reward="same")
    assert [row["overall"] for row in rows] == [1, 0, 0]
    assert {tuple(row) for row in rows} == {("score", "score_scored", "overall")}
    broken = [{"response": "throw", "response_length": 1, "ground_truth": ""}]
    assert easyr1.compute_score(broken, url=gateway_url, reward="kept")[0]["overall"] == 0.25
    with pytest.raises(Unscorable):
        easyr1.compute_score(broken, url=gateway_url, reward="same")


def test_easyr1_sends_the_token_counts(scripted: ScriptedServer) -> None:
    carried = easyr1.carrying_prompt("7", "3+4?")
    inputs = [{"response": "1", "response_length": 9, "ground_truth": truth} for truth in (carried, "7")]
    # Earlier versions of EasyR1 do not count.
    easyr1.compute_score([*inputs, {"response": "1", "ground_truth": "7"}], url=scripted.url, reward="r")
    (request,) = scripted.requests
    assert [sample.get("tokens") for sample in request["body"]["samples"]] == [{"response": 9}, {"response": 9}, None]


def test_ray_adds_columns_to_a_table(gateway_url: str) -> None:
    table = pa.table(
        {
            "prompt": [MESSAGES] * 3,
            "completion": ["x", "x", "throw"],
            "gold": ["7", "8", "7"],
            "level": [3, 3, 3],
            "valid": ["old"] * 3,
        }
    )
    score = ray.ScoreBatch(gateway_url, "same", {"response": "completion", "ground_truth": "gold"})
    scored = score(table)
    assert scored.column("completion").to_pylist() == ["x", "x", "throw"]
    assert scored.column("reward").to_pylist() == [1, 0, None]
    assert scored.column("valid").to_pylist() == [True, True, False]
    assert scored.column("failure_kind").to_pylist() == [None, None, "rule_error"]
    assert scored.column("metrics").to_pylist()[2] == {"score": None, "score_scored": 0}
    assert score(table.slice(0, 0)).num_rows == 0


def test_swift_sends_columns_and_takes_the_substitute(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class AsyncORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

    swift, rewards = ModuleType("swift"), ModuleType("swift.rewards")
    rewards.orms, rewards.AsyncORM = {}, AsyncORM  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", swift)
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    monkeypatch.setenv("REWARD_GATEWAY_URL", gateway_url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "same")
    from reward_gateway_client import swift as adapter

    assert rewards.orms == {"gateway": adapter.Gateway}  # type: ignore[attr-defined]
    orm = adapter.Gateway(args=None)
    columns: dict[str, Any] = {
        "messages": [[*MESSAGES, {"role": "assistant", "content": "x"}]] * 2,
        "solution": ["7", "8"],
        "level": [3, 3],
        "request_id": ["a", "b"],
        "trainer_state": SimpleNamespace(global_step=1),
    }
    assert asyncio.run(orm(["x", "x"], **columns)) == [1, 0]
    with pytest.raises(Unscorable):
        asyncio.run(orm(["throw"]))
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "kept")
    assert asyncio.run(adapter.Gateway()(["throw", "1"])) == [0.25, 1]


def test_swift_sends_the_turns_that_its_scheduler_counted(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class AsyncORM:
        def __init__(self, args: Any = None, **_: Any) -> None:
            self.args = args

    swift, rewards = ModuleType("swift"), ModuleType("swift.rewards")
    rewards.orms, rewards.AsyncORM = {}, AsyncORM  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "swift", swift)
    monkeypatch.setitem(sys.modules, "swift.rewards", rewards)
    monkeypatch.setenv("REWARD_GATEWAY_URL", scripted.url)
    monkeypatch.setenv("REWARD_GATEWAY_REWARD", "r")
    monkeypatch.delitem(sys.modules, "reward_gateway_client.swift", raising=False)
    from reward_gateway_client import swift as adapter

    rollout = [
        {"role": "assistant", "content": "look()"},
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "0.5"},
    ]
    asked = {"role": "user", "content": "<image>warm?"}
    columns: dict[str, Any] = {
        "messages": [[asked, *rollout], [asked, *rollout]],
        "rollout_infos": [{"num_turns": 2}, {}],
        "images": [[{"bytes": PNG, "path": "a.png"}]] * 2,
        "finish_reason": ["length", "abort"],
        "response_token_ids": [[[1, 2], [3]], [4, 5]],
        "trajectory_inputs": {"request-1": []},
    }

    def answer(handler: Any, body: dict[str, Any]) -> None:
        rows = [result(at, 1) for at in range(2)]
        handler.send(200, {"results": rows, "reward": {"name": body["reward"], "version": "1"}})

    scripted.answers = [answer]
    assert asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns)) == [1, 1]
    (request,) = scripted.requests
    several, last = request["body"]["samples"]
    place = {"type": "image", "image": PNG_URL}
    shown = {"role": "user", "content": [place, {"type": "text", "text": "warm?"}]}
    assert (several["prompt"], several["response"]) == ([shown], rollout)
    assert (last["prompt"], last["response"]) == ([shown, *rollout[:2]], rollout[2:])
    assert (several["status"], several["extra_info"]) == ("truncated", {})
    assert last["status"] == "aborted", "not an answer that the policy ended"
    assert (several["tokens"], last["tokens"]) == ({"response": 3}, {"response": 2})

    # Its schedulers write token ids over the text of every turn but the last.
    class Tokenizer:
        def decode(self, ids: list[int], **_: Any) -> str:
            return "".join(map(chr, ids))

    ids = {"role": "assistant", "content": [ord(letter) for letter in "look()"]}
    columns["messages"] = [[asked, ids, *rollout[1:]]] * 2
    scripted.answers = [answer]
    assert asyncio.run(adapter.Gateway(tokenizer=Tokenizer())(["0.5", "0.5"], **columns)) == [1, 1]
    assert scripted.requests[-1]["body"]["samples"][0]["response"] == rollout
    with pytest.raises(ValueError, match="set REWARD_GATEWAY_TOKENIZER"):
        asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns))
    columns["messages"] = [[asked, {"role": "assistant", "content": []}, *rollout[1:]]] * 2
    with pytest.raises(ValueError, match="neither a text nor token ids"):
        asyncio.run(adapter.Gateway()(["0.5", "0.5"], **columns))
