"""Times Math-Verify on the pairs of standard input, one JSON object a line: gold, pred, precision, strict."""
import json
import sys
import time

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

sources = [LatexExtractionConfig(), ExprExtractionConfig()]


def verdict(pair):
    gold = parse(pair["gold"], extraction_config=sources)
    pred = parse(pair["pred"], extraction_config=sources)
    return bool(verify(gold, pred, float_rounding=pair.get("precision", 6), strict=pair.get("strict", True)))


pairs = [json.loads(line) for line in sys.stdin]
passes = int(sys.argv[1])
times = [[] for _ in pairs]
verdicts = []
for turn in range(passes + 1):
    verdicts = []
    for index, pair in enumerate(pairs):
        start = time.perf_counter()
        verdicts.append(verdict(pair))
        if turn > 0:
            times[index].append((time.perf_counter() - start) * 1000)
json.dump({"times": times, "verdicts": verdicts}, sys.stdout)
