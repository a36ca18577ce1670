/** A folder of Python reward functions in every form that is read: verl's, OpenRLHF's, TRL's, and a pair of hooks. */
export const pythonFiles = {
  'verl_rule.py': `
import os, sys, time
from words import best

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    print("noise", solution_str)
    os.write(1, b"more noise\\n")
    if solution_str == "raise":
        raise ValueError("secret " + solution_str)
    if solution_str == "exit":
        sys.exit(2)
    if solution_str == "die":
        os._exit(3)
    if solution_str == "hang":
        while True:
            pass
    if solution_str == "much":
        return len(bytearray(3_000_000_000))
    if solution_str == "none":
        return None
    if solution_str == "nan":
        return float("nan")
    if solution_str == "text":
        return "1"
    if solution_str == "true":
        return True
    if solution_str == "tuple":
        return (0.25, "why")
    if solution_str == "dict":
        return {"score": 0.5, "acc": 1, "pred": "x" * 10000, "odd": object()}
    return 1.0 if solution_str == best(ground_truth) and extra_info["split"] == "train" else 0.0
`,
  words: { '__init__.py': 'def best(truth):\n    return truth\n' },
  'slow.py': `
import asyncio, time

async def compute_score(solution_str, ground_truth, delay=0.05, **others):
    if solution_str == "never":
        await asyncio.sleep(3600)
    if solution_str == "block":
        while True:
            pass
    if solution_str == "raise":
        raise KeyError("secret")
    await asyncio.sleep(delay)
    return len(others["extra_info"])
`,
  'remote.py': `
class Tensor:
    def __init__(self, values):
        self.values = values
    def item(self):
        if len(self.values) != 1:
            raise ValueError("more than one")
        return self.values[0]
    def tolist(self):
        return self.values

def reward_func(queries, prompts, labels):
    score = float(queries[0] == prompts[0] + labels[0])
    return {"rewards": Tensor([score]), "scores": Tensor([score / 2]), "extra_logs": {"length": Tensor([len(queries[0])])}}
`,
  'trl_rules.py': `
def exact(completions, solution, **kwargs):
    contents = [c[0]["content"] if isinstance(c, list) else c for c in completions]
    return [None if c == "skip" else float(c == s) for c, s in zip(contents, solution)]

def formatted(prompts, completions, difficulty, **kwargs):
    return [0.5 * d for d in difficulty]
`,
  'judge.py': `
def rm_preprocess(text_prompts, text_responses, tgt_tokenizer):
    if text_responses[0] == "plain":
        return ["plain question"]
    if text_responses[0] == "odd":
        return [7]
    chats = [[{"role": "user", "content": f"{p}: {r}"}] for p, r in zip(text_prompts, text_responses)]
    return [tgt_tokenizer.apply_chat_template(c, add_generation_prompt=True, tokenize=False) for c in chats]

def rm_postprocess(results):
    return [int(text) if text.isdigit() else None for text in results]
`,
}
