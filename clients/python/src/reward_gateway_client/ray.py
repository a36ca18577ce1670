"""Ray Data: scores files that outgrow one machine, on the cluster that holds them.

scored = score_dataset(ray.data.read_parquet("rollouts/"), "http://gateway:8080", "gsm8k")
scored.write_parquet("scored/")
"""

from collections.abc import Mapping
from typing import Any

from .sample import sample_of
from .settings import timeout_or_env
from .shared import shared_gateway


class ScoreBatch:
    """For `Dataset.map_batches(ScoreBatch, batch_format="pyarrow", ...)`. Adds the columns `reward` and `substitute`
    (null if there is none), `valid`, `failure_kind`, `metrics` (a struct) and `flags`. `columns` maps `prompt`,
    `response` and `ground_truth` to the data set's own names."""

    def __init__(
        self,
        url: str,
        reward: str,
        columns: Mapping[str, str] | None = None,
        api_key: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._url = url
        self._reward = reward
        self._columns = {"prompt": "prompt", "response": "response", **(columns or {})}
        self._api_key = api_key
        self._timeout_s = timeout_or_env(timeout_s, 1800)

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        if table.num_rows == 0:
            return table
        samples = [self._sample(row) for row in table.to_pylist()]
        gateway = shared_gateway(self._url, self._api_key)
        results = gateway.score(samples, reward=self._reward, timeout_s=self._timeout_s)
        added = {
            "reward": pa.array([r.reward for r in results], pa.float64()),
            "valid": pa.array([r.valid for r in results], pa.bool_()),
            "failure_kind": pa.array([r.failure and r.failure["kind"] for r in results], pa.string()),
            "substitute": pa.array([r.substitute for r in results], pa.float64()),
            "metrics": pa.array([{k: None if v is None else float(v) for k, v in r.metrics.items()} for r in results]),
            "flags": pa.array([list(r.flags) for r in results], pa.list_(pa.string())),
        }
        for name, values in added.items():
            if name in table.column_names:
                table = table.drop_columns([name])
            table = table.append_column(name, values)
        return table

    def _sample(self, row: dict[str, Any]) -> Any:
        prompt = row.pop(self._columns["prompt"], None)
        response = row.pop(self._columns["response"])
        return sample_of("" if prompt is None else prompt, response, row, self._columns.get("ground_truth"))


def score_dataset(
    dataset: Any,
    url: str,
    reward: str,
    *,
    columns: Mapping[str, str] | None = None,
    api_key: str | None = None,
    batch_size: int = 512,
    concurrency: int = 4,
) -> Any:
    """Adds the columns of ScoreBatch to a data set, with `concurrency` concurrent requests of `batch_size` samples.

    Batches split groups. For a reward with group steps use `dataset.groupby(KEY).map_groups(ScoreBatch(...),
    batch_format="pyarrow")`.
    """
    from ray.data import ActorPoolStrategy

    return dataset.map_batches(
        ScoreBatch,
        fn_constructor_kwargs={"url": url, "reward": reward, "columns": columns, "api_key": api_key},
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ActorPoolStrategy(size=concurrency),
        # Its actors wait for the gateway. With a CPU each, a smaller cluster would wait for CPUs forever.
        num_cpus=0,
    )
