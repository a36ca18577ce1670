import t from 'tap'
import type { Json } from '../../../src/core/sample/sample.ts'
import { failureOf, openWith, score } from '../../support/function-calls.ts'
import { withoutPython } from '../../support/python.ts'

const files = {
  'kind.py': `
def compute_score(solution_str, ground_truth):
    return {"score": 1.0, "seen": repr(ground_truth)}
`,
  'late.py': `
async def compute_score(solution_str, ground_truth):
    return {"score": 1.0, "seen": repr(ground_truth)}
`,
  'trl.py': `
def exact(prompts, completions, ground_truth, **columns):
    return [1.0 if isinstance(truth, dict) else 0.0 for truth in ground_truth]
`,
}

t.test('the ground truth of a Python function (M37)', { skip: withoutPython }, async (t) => {
  const host = await openWith([t.testdir(files)], { python: { processes: 1 } })
  t.teardown(() => host.close())
  const text = '{"target": 24, "numbers": [9007199254740993, 0.5], "none": null}'
  const seen = async (name: string, options: Json, truth: Json) => {
    const result = await score(host, await host.bind(name, options as never), 'x', truth)
    if (result.status !== 'verdicts') return failureOf(result)
    const [verdict] = result.verdicts
    return { seen: verdict?.details?.seen, flags: verdict?.flags }
  }

  for (const name of ['kind', 'late']) {
    await t.test(`${name}: is the text that was sent, unless the config asks for its value`, async (t) => {
      t.strictSame(await seen(name, {}, text), { seen: `'${text}'`, flags: undefined })
      t.strictSame(await seen(name, { truth: 'json' }, text), {
        seen: "{'target': 24, 'numbers': [9007199254740993, 0.5], 'none': None}",
        flags: ['truth_from_text'],
      })
    })

    await t.test(`${name}: is a value that was sent as a value`, async (t) => {
      t.strictSame(await seen(name, { truth: 'json' }, { a: [1] }), { seen: "{'a': [1]}", flags: undefined })
      t.strictSame(await seen(name, { truth: 'json' }, null), { seen: 'None', flags: undefined })
    })

    await t.test(`${name}: a text that holds no value costs only its sample`, async (t) => {
      const refused: readonly (readonly [truth: string, reason: RegExp])[] = [
        ['Paris', /^bad_sample: ground_truth: the text is no JSON/],
        ['{"a": NaN}', /^bad_sample: ground_truth: its JSON holds NaN/],
        ['[{"a": 1, "a": 2}]', /^bad_sample: .*a key twice/],
        ['['.repeat(200_000), /^bad_sample: .*nests too deep/],
      ]
      for (const [truth, reason] of refused) t.match(await seen(name, { truth: 'json' }, truth), reason)
      t.match(await seen(name, {}, 'Paris'), { seen: "'Paris'" }, 'the process goes on')
    })
  }

  await t.test('is a value for each row of a TRL function', async (t) => {
    const dict = await host.bind('trl', { truth: 'json' })
    t.match(await score(host, dict, 'x', text), { verdicts: [{ value: 1 }] })
  })

  await t.test('an unknown form of it is refused', async (t) => {
    const problems = await host
      .bind('kind', { truth: 'yaml' })
      .catch((error: { problems: unknown }) => error.problems)
    t.match(problems, [{ path: 'truth' }])
  })
})
