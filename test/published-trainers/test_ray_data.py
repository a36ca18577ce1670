"""Ray Data scores a file in batches."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
from reward_gateway_client.ray import score_dataset

from served import Served


@pytest.fixture(autouse=True)
def _ray() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    yield
    ray.shutdown()


def test_a_file_comes_back_with_rewards_in_its_rows(gateway: Served, tmp_path: Path) -> None:
    count = 1000
    answers = ["throw" if index % 100 == 0 else str(index % 7) for index in range(count)]
    table = pa.table({"row": range(count), "answer": answers, "gold": ["4"] * count})
    pq.write_table(table, tmp_path / "rollouts.parquet")
    dataset = ray.data.read_parquet(str(tmp_path / "rollouts.parquet"))
    columns = {"response": "answer", "ground_truth": "gold"}
    scored = score_dataset(dataset, gateway.url, "answer", columns=columns, batch_size=128, concurrency=1)
    rows = sorted(scored.take_all(), key=lambda row: row["row"])
    assert [row["row"] for row in rows] == list(range(count))
    expected = [None if answer == "throw" else float(answer == "4") for answer in answers]
    assert [row["reward"] for row in rows] == expected
    assert {row["failure_kind"] for row in rows} == {None, "rule_error"}
