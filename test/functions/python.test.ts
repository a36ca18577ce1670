import t from 'tap'
import type { FunctionEvent } from '../../src/functions/events.ts'
import { call, failureOf, numberOf, openWith, sampleOf, score } from '../support/function-calls.ts'
import { withoutPython } from '../support/python.ts'

const files = {
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

t.test('Python files in a folder of reward functions', { skip: withoutPython }, async (t) => {
  const folder = t.testdir(files)
  const events: FunctionEvent[] = []
  const host = await openWith([folder], {
    events: (event) => events.push(event),
    python: { processes: 2, memoryMb: 1024 },
  })
  t.teardown(() => host.close())
  const verl = await host.bind('verl_rule', { range: [0, 1], parts: ['acc'] })
  const give = (response: string, groundTruth = 'x') =>
    host.call({
      op: 'score',
      function: verl,
      rows: [{ sample: { ...sampleOf(response, groundTruth), extraInfo: { split: 'train' } }, earlier: {} }],
    })

  t.test('are described and bound like any other', async (t) => {
    t.match(await host.describe('verl_rule'), {
      kind: 'rule',
      ask: null,
      file: /verl_rule\.py$/,
      hash: /^[0-9a-f]{64}$/,
    })
    t.match(await host.describe('judge'), { kind: 'model', ask: 'generate', critique: false })
    t.strictSame(verl.range, [0, 1])
    t.strictSame((await host.bind('slow', {})).range, [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])
    const problems = async (name: string, options: object) =>
      (await host.bind(name, options as never).catch((error) => error)).problems
    t.match(await problems('trl_rules', {}), [{ path: 'function', message: 'name one of exact, formatted' }])
    t.match(await problems('trl_rules', { function: 'other' }), [
      { path: 'function', message: /no function 'other'/ },
    ])
    t.match(await problems('verl_rule', { kwargs: { method: 'strict' } }), [
      { path: 'kwargs', message: /takes no 'method'/ },
    ])
    t.match(await problems('verl_rule', { rnage: [0, 1] }), [{ message: /rnage/ }])
    t.match(await problems('verl_rule', { range: [1, 0] }), [{ path: 'range' }])
  })

  t.test("verl's compute_score gives numbers, tuples and dicts", async (t) => {
    t.equal(numberOf(await give('x')), 1)
    t.equal(numberOf(await give('y')), 0)
    t.equal(numberOf(await give('true')), 1)
    t.equal(numberOf(await give('tuple')), 0.25)
    const dict = await give('dict')
    t.match(dict, { verdicts: [{ value: 0.5, parts: { acc: 1 }, details: { odd: '<object>' } }] })
    t.ok(JSON.stringify(dict).length < 5000, 'long entries are cut')
  })

  t.test('what it raises, prints and returns wrongly is a failure of its sample', async (t) => {
    const failures = async (response: string) => failureOf(await give(response))
    t.match(await failures('raise'), /^rule_error: score threw ValueError at verl_rule\.py:9$/)
    t.ok(events.some((event) => event.type === 'threw' && /Traceback.*secret raise/s.test(event.error)))
    t.match(await failures('exit'), /^rule_error: score threw SystemExit/)
    t.match(await failures('none'), /^rule_error: score: returned NoneType, not a number/)
    t.match(await failures('nan'), /^rule_error: score returned NaN/)
    t.match(await failures('text'), /^rule_error: score: returned str/)
    t.match(await failures('much'), /^rule_error: score threw MemoryError/)
  })

  t.test('a sample that hangs or kills its process inside a chunk costs only itself', async (t) => {
    const responses = Array.from({ length: 32 }, (_, i) => (i === 7 ? 'hang' : i === 21 ? 'die' : 'x'))
    const results = await Promise.all(responses.map((response) => give(response)))
    results.forEach((result, i) => {
      if (i === 7) t.match(failureOf(result), /^rule_timeout: score did not end within 1000 ms/)
      else if (i === 21)
        t.match(failureOf(result), /^rule_error: score ended its worker twice: .*exit code 3/)
      else t.equal(numberOf(result), 1)
    })
  })

  t.test('asynchronous functions run side by side, each with its own time limit', async (t) => {
    const slow = await host.bind('slow', { kwargs: { delay: 0.2 } })
    const begun = performance.now()
    const responses = [...Array<string>(20).fill('x'), 'never', 'raise']
    const results = await Promise.all(responses.map((response) => score(host, slow, response)))
    t.ok(performance.now() - begun < 3000, '20 waits of 0.2 s do not add up')
    t.ok(results.slice(0, 20).every((result) => numberOf(result) === 0))
    t.match(failureOf(results[20]!), /^rule_timeout/)
    t.match(failureOf(results[21]!), /^rule_error: score threw KeyError at slow\.py/)
  })

  t.test('an asynchronous function that blocks the others costs only itself', async (t) => {
    const slow = await host.bind('slow', {})
    const results = await Promise.all(['x', 'block', 'x'].map((response) => score(host, slow, response)))
    t.strictSame(results.map(numberOf), [0, Number.NaN, 0])
    t.match(failureOf(results[1]!), /^rule_timeout/)
  })

  t.test("OpenRLHF's reward_func, with tensors", async (t) => {
    const remote = await host.bind('remote', {})
    t.match(await score(host, remote, 'x', 'x'), {
      verdicts: [{ value: 1, details: { scores: 0.5, length: 2 } }],
    })
    t.equal(numberOf(await score(host, remote, 'x', 'y')), 0)
  })

  t.test("TRL's functions of completions, with columns and None", async (t) => {
    const exact = await host.bind('trl_rules', { function: 'exact' })
    const formatted = await host.bind('trl_rules', { function: 'formatted' })
    t.equal(numberOf(await score(host, exact, 'x', 'x')), 1)
    t.strictSame(await score(host, exact, 'skip', 'x'), { status: 'verdicts', verdicts: [null] })
    const sample = {
      ...sampleOf('x', 'x'),
      prompt: [{ role: 'user', content: 'q' }],
      extraInfo: { difficulty: 3, solution: 'y' },
    }
    const rows = [{ sample, earlier: {} }]
    t.equal(
      numberOf(await host.call({ op: 'score', function: exact, rows })),
      0,
      'a column goes before the ground truth',
    )
    t.equal(numberOf(await host.call({ op: 'score', function: formatted, rows })), 1.5)
    t.match(
      failureOf(await score(host, formatted, 'x')),
      /^rule_error: score threw TypeError/,
      'a column is missing',
    )
  })

  t.test('a pair of hooks asks with the messages and reads the text', async (t) => {
    const judge = await host.bind('judge', { range: [0, 1] })
    const read = (text: string) =>
      call(host, judge, 'postprocess', ['r'], null, { text, finishReason: 'stop' })
    t.strictSame(await call(host, judge, 'preprocess', ['r']), {
      status: 'question',
      question: { kind: 'chat', messages: [{ role: 'user', content: 'p: r' }] },
    })
    t.strictSame(await call(host, judge, 'preprocess', ['plain']), {
      status: 'question',
      question: 'plain question',
    })
    t.match(
      failureOf(await call(host, judge, 'preprocess', ['odd'])),
      /^function_error: .*returned int, not text/,
    )
    t.equal(numberOf(await read('1')), 1)
    t.strictSame(await read('?'), { status: 'verdicts', verdicts: [null] })
    t.match(failureOf(await read('7')), /^judge_out_of_range/)
  })
})

t.test(
  'mistakes in Python files are reported all at once, with the traceback',
  { skip: withoutPython },
  async (t) => {
    const folder = t.testdir({
      'broken.py': 'def f(:\n',
      'missing.py': 'import not_a_module\n',
      'no_function.py': 'x = 1\n',
      'half.py': 'def rm_preprocess(text_prompts, text_responses, tgt_tokenizer):\n    return text_prompts\n',
      'Bad-Name.py': '',
      'test_it.py': 'raise ValueError()',
    })
    const { problems } = await openWith([folder]).catch((error) => error)
    const said = (path: string) =>
      problems.find((problem: { path: string }) => problem.path.endsWith(path))?.message
    t.match(said('/broken.py'), /SyntaxError/)
    t.match(said('/missing.py'), /No module named 'not_a_module'/)
    t.match(said('/no_function.py'), /none of its functions has a known signature: compute_score/)
    t.match(said('/half.py'), /rm_preprocess and rm_postprocess come together/)
    t.match(said('/Bad-Name.py'), /small letters, like exact_match\.py/)
    t.equal(problems.length, 5)
  },
)

t.test('an interpreter that cannot be started is named', async (t) => {
  const folder = t.testdir({ 'rule.py': 'def compute_score(solution_str): return 1\n' })
  const { problems } = await openWith([folder], { python: { command: 'no-such-python' } }).catch(
    (error) => error,
  )
  t.match(problems, [{ message: /no-such-python cannot be started: ENOENT/ }])
})
