"""A gateway with a queue, and a judge that takes as long as a test says."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from served import ROOT, Served

RUN = "trainer"


@contextmanager
def queued(folder: Path, judge_s: float) -> Iterator[Served]:
    """The reward `judged` is 1.5 for a right answer and 0.5 for another: the judge says yes to all. Adapters find it by
    the environment, which is set meanwhile. `ruled` is the rule alone, 1 or 0."""
    command = ["node", str(ROOT / "dist/src/cli/main.js"), "simulate", "--model", "judge"]
    command += ["--policy", "constant", "--constant", "1"]
    command += ["--max-num-seqs", "8192", "--latency-median-ms", str(judge_s * 1000)]
    judge = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert judge.stdout is not None
    url = judge.stdout.readline().split()[-1]
    model = {"model": "judge", "instances": [url], "max_in_flight": 8192, "batch": {"max_size": 1}}
    rule = {"name": "answer", "function": "exact-match", "options": {"operation": "like"}}
    asked = {"name": "judge", "function": "yes-no-judge", "model": "judge", "weight": 0.5}
    configs = {
        "gateway": {"queue": {"folder": "../queue"}, "models": {"judge": {**model, "hedge": {"budget": 0}}}},
        "judged": {"steps": [rule, asked]},
        "ruled": {"steps": [rule]},
    }
    (folder / "configs").mkdir()
    for name, config in configs.items():
        (folder / "configs" / f"{name}.yaml").write_text(json.dumps(config))
    served = Served(folder / "configs")
    added = {"URL": served.url, "QUEUE": "1", "RUN": RUN, "REWARD": "judged"}
    before = dict(os.environ)
    os.environ.update({f"REWARD_GATEWAY_{name}": value for name, value in added.items()})
    try:
        yield served
    finally:
        os.environ.clear()
        os.environ.update(before)
        served.kill()
        judge.kill()
        judge.wait()
        judge.stdout.close()


def connections_to(url: str) -> int:
    """Established connections of this process to a server on this machine."""
    port = int(url.rpartition(":")[2])
    own = set()
    for fd in Path("/proc/self/fd").iterdir():
        try:
            own.add(os.readlink(fd))
        except OSError:
            continue
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return sum(f"socket:[{row[9]}]" in own for row in rows if int(row[2].split(":")[1], 16) == port and row[3] == "01")
