"""Scores one program repeatedly with verl's prime_code, as its compute_score does for a program that passes every test."""

import importlib
import json
import resource
import sys
import time
import types

folder = sys.argv[1] + "/verl/utils/reward_score/prime_code"
package = types.ModuleType("prime_code")
package.__path__ = [folder]
sys.modules["prime_code"] = package
utils = importlib.import_module("prime_code.utils")
request = json.load(sys.stdin)
tests = {"inputs": request["inputs"], "outputs": request["outputs"]}


def cpu():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


began, started = cpu(), time.monotonic()
for _ in range(request["times"]):
    results, _ = utils.check_correctness(in_outs=tests, generation=request["program"], timeout=5, debug=False)
rates = {"cpu": request["times"] / (cpu() - began), "wall": request["times"] / (time.monotonic() - started)}
print(json.dumps({**rates, "passed": int(all(result is True for result in results))}))
