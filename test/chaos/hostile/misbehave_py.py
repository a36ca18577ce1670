import json
import os
import signal
import sys


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """Does to its process what the response names, and then gives a score that it may not give."""
    if solution_str == "hang":
        while True:
            pass
    if solution_str == "throw":
        raise ValueError("asked to")
    if solution_str in ("exit", "abort"):
        os._exit(0)
    if solution_str == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if solution_str == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
    if solution_str == "forge":
        os.write(1, b'\x00\x00\x00\x02[]')
    if solution_str == "patch":
        json.dumps = lambda *a, **k: "[]"
        json.loads = lambda *a, **k: {}
    if solution_str == "flood":
        for _ in range(200):
            sys.stdout.write("x" * 100_000 + "\n")
    if solution_str == "leak":
        kept = [bytearray(64 << 20) for _ in range(16)]
        return len(kept) * float("nan")
    return float("nan")
