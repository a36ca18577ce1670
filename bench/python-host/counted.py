"""A reward function that takes about 50 microseconds, and the plain loop that it is measured against."""

import sys
import time


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    total = 0
    for index in range(STEPS):
        total += index * index % 7
    return float(total % 2)


STEPS = 800

if __name__ == "__main__":
    count = int(sys.argv[1])
    text = "We add the apples of the first day to those of the second day. " * 16
    began = time.perf_counter(), time.process_time()
    for number in range(count):
        compute_score("bench", text, str(number), {"index": number})
    print(time.perf_counter() - began[0], time.process_time() - began[1])
