"""Writes figures of training steps as runs of W&B. `reward-gateway export --to wandb` calls it:

    python -m reward_gateway_client.wandb_runs --dir DIR --project NAME [--online] < figures.jsonl

Each line has `run`, `reward`, `step`, `time` and `figures`. Each run and reward becomes one run of W&B. Without
--online the runs are offline ones, which `wandb sync` uploads.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any


def write_runs(lines: Iterable[str], folder: str, project: str, *, online: bool = False) -> int:
    """Returns the number of runs. Lines of one run must follow each other, in the order of their steps."""
    import wandb

    Path(folder).mkdir(parents=True, exist_ok=True)
    rows: Iterable[dict[str, Any]] = (json.loads(line) for line in lines if line.strip())
    count = 0
    for (run_name, reward), steps in groupby(rows, lambda row: (row["run"], row["reward"])):
        run = wandb.init(
            project=project,
            dir=folder,
            name=f"{run_name}/{reward}" if run_name else reward,
            group=run_name or None,
            job_type="reward",
            config={"run": run_name, "reward": reward},
            mode="online" if online else "offline",
            reinit="finish_previous",
            settings=wandb.Settings(
                console="off", disable_code=True, disable_git=True, quiet=True, silent=True, x_disable_stats=True
            ),
        )
        for row in steps:
            run.log({**row["figures"], "_timestamp": row["time"]}, step=row["step"])
        run.finish()
        count += 1
    return count


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--dir", required=True)
    arguments.add_argument("--project", required=True)
    arguments.add_argument("--online", action="store_true")
    given = arguments.parse_args()
    write_runs(sys.stdin, given.dir, given.project, online=given.online)


if __name__ == "__main__":
    main()
