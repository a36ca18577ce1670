"""Random cases of rubric judges with the answers of verifiers' and rewardkit's own code, as lines of a vector file."""

import json
import os
import random
import sys
import tempfile
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from rewardkit.judges import parse_judge_response
from rewardkit.models import Binary, Criterion, Likert, Numeric, Rubric
from rewardkit.reward import aggregate_scores
from verifiers.v1.judges.rubric import (
    RubricVerdicts,
    first_verdicts_object,
    load_criteria,
    score_verdicts,
)

NAMES = ["river", "bridge", "a-b", "__proto__", "score"]
ODD_NAMES = [*NAMES, "a/b", "Größe"]
CHOICES = [None, ["no", "yes"], ["bad", "fair", "good"]] * 10 + [["yes"], ["a", "a"]]
SUMS = ["weighted-mean", "weighted-sum", "all-pass", "any-pass", "threshold", "required-pass"]


def spoiled(draw, text):
    return draw.choice(
        [text] * 12
        + [
            f"```json\n{text}\n```",
            f"Well: {text} That is all.",
            f"{{{text}}}",
            text[:-1],
            f"{text}\n{text}",
            f"[{text}]",
            "no JSON",
        ]
    )


def verifiers_case(draw):
    criteria = []
    for name in draw.sample(ODD_NAMES, draw.randint(1, 4)):
        own = {"name": name, "text": "x", "weight": draw.choice([0, 0.5, 1, 2, 3.5] * 8 + [-1])}
        choices = draw.choice(CHOICES)
        criteria.append(own if choices is None else {**own, "choices": choices})
    size = draw.choice([None, 1, 2])
    step = size or len(criteria)
    replies = []
    for at in range(0, len(criteria), step):
        verdicts = [
            {
                "name": one["name"] if draw.random() < 0.95 else "other",
                "reason": "r",
                "verdict": draw.choice([*one.get("choices", ["no", "yes"])] * 10 + ["YES", True]),
            }
            for one in criteria[at : at + step]
        ]
        if draw.random() < 0.1:
            verdicts.append(verdicts[0])
        draw.shuffle(verdicts)
        replies.append(spoiled(draw, json.dumps({"verdicts": verdicts})))
    return {"criteria": criteria, "weights": {}, "max_criteria": size, "replies": replies}


def verifiers_answer(given, folder):
    path = Path(folder) / "rubric.json"
    path.write_text(json.dumps({"criteria": given["criteria"]}))
    criteria = load_criteria(path)
    step = given["max_criteria"] or len(criteria)
    scores = {}
    for index, at in enumerate(range(0, len(criteria), step)):
        found = first_verdicts_object(given["replies"][index])
        if found is None:
            raise ValueError("no verdicts")
        verdicts = RubricVerdicts.model_validate(found).verdicts
        scores.update(score_verdicts(verdicts, criteria[at : at + step], "the batch's"))
    total = sum(one.weight for one in criteria)
    return {"score": sum(one.weight * scores[one.name] for one in criteria) / total, "by_name": scores}


def rewardkit_case(draw):
    criteria = []
    for name in draw.sample(NAMES, draw.randint(1, 4)):
        kind = draw.choice(["binary", "likert", "numeric", "rubric"])
        own = {"name": name, "type": kind, "negate": draw.random() < 0.3, "optional": draw.random() < 0.3}
        own["weight"] = draw.choice([0, 0.5, 1, 2] * 6 + [-1])
        if kind == "likert":
            own["points"] = draw.choice([2, 5, 7])
        if kind == "numeric":
            own["min"], own["max"] = draw.choice([(0, 1), (-5, 5), (1, 100)])
        if kind == "rubric":
            own["levels"] = ["none", "some", "most"]
        criteria.append(own)
    said = [0, 1, 2, 3.5, -1, "yes", "No", " TRUE ", "1.5", "x", None, True, "nan"]
    entries = {one["name"]: {"score": draw.choice([0, 1, 2, 3.5, -1, "1.5"] if one["type"] != "binary" else said), "reasoning": ""} for one in criteria}
    if draw.random() < 0.2:
        entries[criteria[0]["name"]] = draw.choice([{"score": draw.choice(said)}, {"reasoning": ""}, 5])
    if len(criteria) == 1 and draw.random() < 0.5:
        entries = {"score": draw.choice(said), "reasoning": ""}
    reply = spoiled(draw, json.dumps(entries))
    return {"criteria": criteria, "reply": reply, "aggregation": draw.choice(SUMS), "threshold": 0.5}


def criterion_of(one):
    forms = {
        "binary": lambda: Binary(),
        "likert": lambda: Likert(points=one["points"]),
        "numeric": lambda: Numeric(min=one["min"], max=one["max"]),
        "rubric": lambda: Rubric(levels=tuple(one["levels"])),
    }
    return Criterion(
        description="x",
        name=one["name"],
        output_format=forms[one["type"]](),
        negate=one["negate"],
        optional=one["optional"],
    )


def rewardkit_answer(given):
    criteria = given["criteria"]
    scores = parse_judge_response(
        given["reply"], [criterion_of(one) for one in criteria], [one["weight"] for one in criteria]
    )
    values = {one.name: one.value for one in scores}
    return {"values": values, "score": aggregate_scores(scores, given["aggregation"], given["threshold"])}


def main(count, seed):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for at in range(count):
            name, case, answer = draw.choice(
                [
                    ("verifiers_rubric_judge", verifiers_case, lambda given: verifiers_answer(given, folder)),
                    ("rewardkit_judge", rewardkit_case, rewardkit_answer),
                ]
            )
            given = case(draw)
            try:
                expected = answer(given)
            except (ValueError, TypeError, OverflowError):
                expected = {"error": True}
            line = {"id": f"{seed}-{at}", "function": name, "input": given, "expected": expected}
            print(json.dumps(line))


main(int(sys.argv[1]), int(sys.argv[2]))
