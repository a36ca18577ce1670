import t from 'tap'
import { z } from 'zod'
import { defineRule, lastUserText, type Rule, type Verdict } from '../../src/contract/index.ts'
import { type RuleCases, row, ruleContract, scored, type TestRunner } from '../../src/contract/testing.ts'

/** The titles of the checks that a rule fails. */
function failures<T, O>(rule: Rule<T, O>, cases: Partial<RuleCases> = {}): string[] {
  const failed: string[] = []
  const runner: TestRunner = {
    ok: (holds, title) => holds || failed.push(title),
    strictSame: (found, wanted, title) =>
      JSON.stringify(found) === JSON.stringify(wanted) || failed.push(title),
  }
  ruleContract(runner, rule, {
    full: { response: 'good' },
    zero: { response: 'bad' },
    malformed: { response: '' },
    hacks: { 'more of the same': { response: 'good good' } },
    ...cases,
  })
  return failed
}

const rule = (score: (response: string) => Verdict): Rule<unknown, Record<string, never>> =>
  defineRule({
    truth: z.unknown(),
    range: [0, 1],
    parts: ['known'],
    score: ({ sample }) => score(sample.response),
  })

t.test('a rule that keeps its contract passes', async (t) => {
  t.strictSame(failures(rule((response) => Number(response === 'good'))), [])
  const shared = rule((response) => ({ value: Number(response === 'good'), parts: { known: 1 } }))
  t.strictSame(failures(shared), [])
})

t.test('each broken promise is named', async (t) => {
  const paysHacks = failures(rule((response) => Number(response.includes('good'))))
  t.strictSame(paysHacks, ['more of the same: earns less than full'])
  const paysNothing = failures(rule(() => 1))
  t.ok(paysNothing.includes('malformed: earns less than full'))
  t.ok(paysNothing.includes('zero: 1 is the low end of the range'))
  t.match(failures(rule((response) => (response === 'good' ? 2 : 0))), ['full: 2 lies in the range'])
  t.match(failures(rule((response) => (response === 'good' ? 0.9 : 0))), [
    'full: 0.9 is the high end of the range',
  ])
  t.match(failures(rule((response) => (response === 'good' ? 1 : null))), ['zero: applies'])
  let calls = 0
  const moody = rule((response) => (response === 'good' ? 1 : ++calls / 1000))
  t.ok(failures(moody).includes('zero: the same twice'))
  const unknownPart = rule((response) => ({ value: Number(response === 'good'), parts: { other: 1 } }))
  t.ok(failures(unknownPart).includes('full: reports declared parts only'))
  const infinitePart = rule((response) => ({
    value: Number(response === 'good'),
    parts: { known: Infinity },
  }))
  t.ok(failures(infinitePart).includes('full: its parts are finite'))
  t.ok(
    failures(
      rule((response) => Number(response === 'good')),
      { hacks: {} },
    ).includes('at least one hack is named'),
  )
})

t.test('a rule that only nears the ends of its range says how near', async (t) => {
  const nearly = rule((response) => (response === 'good' ? 0.99 : 0.01))
  t.strictSame(failures(nearly, { within: 0.02 }), [])
})

t.test('a row is parsed and frozen, and refused as a worker would', async (t) => {
  const strict = defineRule({
    truth: z.object({ n: z.number() }),
    options: z.strictObject({ deep: z.object({ x: z.number() }).default({ x: 1 }) }),
    range: [0, 1],
    score: ({ truth }) => truth.n,
  })
  const built = row(strict, { groundTruth: { n: 1 }, response: 'x', extraInfo: { a: [1] } })
  t.strictSame([built.truth, built.options, built.sample.id], [{ n: 1 }, { deep: { x: 1 } }, 'test'])
  for (const part of [built, built.sample, built.sample.extraInfo.a, built.truth, built.options.deep]) {
    t.ok(Object.isFrozen(part))
  }
  t.throws(() => row(strict, { groundTruth: 'x' }))
  t.throws(() => row(strict, { groundTruth: { n: 1 }, options: { depth: 1 } }))
  t.strictSame(scored(strict, { groundTruth: { n: 1 } }), { value: 1 })
})

t.test('what was asked last is the last user message, else the last one', async (t) => {
  const messages = ['user', 'user', 'assistant'].map((role, i) => ({ role, content: `${i}` }))
  t.equal(lastUserText({ prompt: messages }), '1')
  t.equal(lastUserText({ prompt: messages.slice(2) }), '2')
  t.equal(lastUserText({ prompt: [] }), '')
  t.equal(lastUserText({ prompt: 'x' }), 'x')
})
