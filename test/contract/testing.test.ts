import assert from 'node:assert/strict'
import t from 'tap'
import { z } from 'zod'
import {
  BadSample,
  defineModelReward,
  defineRule,
  lastUserText,
  prompt,
  type Rule,
  type Sample,
  steps,
  type Verdict,
} from '../../src/contract/index.ts'
import {
  type JudgeCases,
  judgeContract,
  type RuleCases,
  row,
  ruleContract,
  scored,
  type TestRunner,
} from '../../src/contract/testing.ts'

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

const rule = (score: (response: string) => Verdict): Rule<unknown, Record<never, never>> =>
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

t.test('each broken promise of a rule is named', async (t) => {
  const isGood = (response: string) => Number(response === 'good')
  let calls = 0
  const broken: Readonly<Record<string, readonly [failed: readonly string[], named: string]>> = {
    'pays hacks': [
      failures(rule((response) => Number(response.includes('good')))),
      'more of the same: earns less than full',
    ],
    'pays an empty answer': [failures(rule(() => 1)), 'malformed: earns less than full'],
    'pays a bad answer': [failures(rule(() => 1)), 'zero: scored 1, and the range begins at 0'],
    'leaves its range': [failures(rule((response) => 2 * isGood(response))), 'full: 2 lies in the range'],
    'never pays in full': [
      failures(rule((response) => 0.9 * isGood(response))),
      'full: scored 0.9, and the range ends at 1',
    ],
    'does not apply': [failures(rule((response) => isGood(response) || null)), 'zero: applies'],
    'is moody': [failures(rule((response) => isGood(response) || ++calls / 1000)), 'zero: the same twice'],
    'reports a part that it does not declare': [
      failures(rule((response) => ({ value: isGood(response), parts: { other: 1 } }))),
      'full: reports declared parts only, not other',
    ],
    'reports a part without end': [
      failures(rule((response) => ({ value: isGood(response), parts: { known: Infinity } }))),
      'full: its parts are finite',
    ],
    'names no hack': [failures(rule(isGood), { hacks: {} }), 'at least one hack is named'],
  }
  for (const [title, [failed, named]] of Object.entries(broken)) t.ok(failed.includes(named), title)
})

t.test('a promise that is kept is not named', async (t) => {
  const paysHacks = rule((response) => Number(response.includes('good')))
  t.strictSame(failures(paysHacks), ['more of the same: earns less than full'])
})

t.test("Node's assert runs a contract too, in any test runner", async (t) => {
  const cases = { full: { response: 'a' }, zero: {}, malformed: {}, hacks: { longer: { response: 'aa' } } }
  const good = rule((response) => Number(response === 'a'))
  ruleContract(assert, good, cases)
  const paysAll = rule((response) => Number(response !== ''))
  t.throws(() => ruleContract(assert, paysAll, cases), { message: 'longer: earns less than full' })
})

/** The titles of the checks that a judge fails. */
function judgeFailures(
  ask: (sample: Sample) => ReturnType<typeof prompt> | string | number,
  read: ((text: string) => Verdict) | null,
  cases: Partial<JudgeCases<'generate'>> = {},
): string[] {
  const failed: string[] = []
  const runner: TestRunner = {
    ok: (holds, title) => holds || failed.push(title),
    strictSame: (found, wanted, title) =>
      JSON.stringify(found) === JSON.stringify(wanted) || failed.push(title),
  }
  const judge = defineModelReward({
    ask: 'generate',
    reply: { choice: ['1', '0'] },
    truth: z.unknown(),
    range: [0, 1],
    rm_preprocess: ({ sample }) => ask(sample),
    ...(read && { rm_postprocess: ({ text }: { readonly text: string }) => read(text) }),
  })
  judgeContract(runner, judge, { asked: {}, full: '1', zero: '0', unreadable: { words: 'yes' }, ...cases })
  return failed
}

const guarded = ({ response }: Sample) => prompt`Is this good? ${response}`
const binary = (text: string) => (text === '1' ? 1 : text === '0' ? 0 : null)

t.test('a judge that keeps its contract passes', async (t) => {
  t.strictSame(judgeFailures(guarded, binary), [])
  const json = { asked: { response: '{"reply":"Good day."}' } }
  const readsJson = ({ response }: Sample) => prompt`Is this good? ${JSON.parse(response).reply}`
  t.strictSame(judgeFailures(readsJson, binary, json), [])
})

t.test('each broken promise of the question of a judge is named', async (t) => {
  t.strictSame(
    judgeFailures(({ response }) => `Is this good? ${response}`, binary),
    ['the question: guards the response (put it into prompt`...`)'],
  )
  t.match(
    judgeFailures(() => prompt`Is this good?`, binary),
    ['the question: holds the response', /asks about something, but .* contains nothing from the row/],
  )
  t.strictSame(
    judgeFailures(() => 0, binary),
    ['the question: `asked` leads to one'],
  )
  let asked = 0
  t.strictSame(
    judgeFailures(({ response }) => prompt`${asked++} ${response}`, binary),
    ['the question: the same twice'],
  )
})

t.test('each broken promise about the answer of a judge is named', async (t) => {
  t.strictSame(judgeFailures(guarded, Number, { unreadable: { 'no reply': '' } }), [
    'no reply: is no verdict, but 0',
  ])
  t.strictSame(
    judgeFailures(guarded, (text) => (text === '1' ? 1 : null), { zero: '1' }),
    [
      'zero: scored 1, and the range begins at 0',
      "the reply '0': is a verdict",
      "the reply '0': NaN lies in the range",
    ],
  )
  const tooMuch = judgeFailures(guarded, (text) => (text === '1' ? 2 : binary(text)))
  t.ok(tooMuch.includes('full: 2 lies in the range'))
  t.strictSame(judgeFailures(guarded, binary, { unreadable: {} }), [
    'at least one unreadable answer is named',
  ])
  t.ok(judgeFailures(guarded, null).includes('rm_postprocess reads the answer'))
})

t.test('a judge that makes a text of messages or of an object is caught (M11)', async (t) => {
  const caught: Readonly<Record<string, (sample: Sample) => ReturnType<typeof prompt> | string>> = {
    'a template string': ({ prompt: asked, response }) => `Q: ${asked} A: ${response}`,
    'a sum': ({ prompt: asked, response }) => `Q: ${String(asked)} A: ${response}`,
    'a joined list': ({ prompt: asked, response }) =>
      prompt`Q: ${typeof asked === 'string' ? asked : asked.map(String).join(' ')} A: ${response}`,
    'a method of texts': ({ prompt: asked, response }) =>
      prompt`Q: ${(asked as string).trim()} A: ${response}`,
    'texts only': ({ prompt: asked, response }) =>
      prompt`Q: ${typeof asked === 'string' ? asked : 'see above'} A: ${response}`,
  }
  for (const [name, ask] of Object.entries(caught)) {
    const failed = judgeFailures(ask, binary).filter((title) => title.startsWith('a prompt of messages: '))
    t.equal(failed.length, 1, `${name}: ${failed.join()}`)
  }
  const object = ({ response, extraInfo }: Sample) => prompt`Q: ${String(extraInfo)} A: ${response}`
  t.match(judgeFailures(object, binary), [/^the question: asks about something, but .*\[object Object\]/])
  const fine: Readonly<Record<string, (sample: Sample) => ReturnType<typeof prompt>>> = {
    'the last question': (sample) => prompt`Q: ${lastUserText(sample)} A: ${sample.response}`,
    'the messages': ({ prompt: asked, response }) => prompt`Q: ${asked} A: ${response}`,
    'a refusal': ({ prompt: asked, response }) => {
      if (typeof asked !== 'string') throw new BadSample('prompt: a text is needed')
      return prompt`Q: ${asked} A: ${response}`
    },
  }
  for (const [name, ask] of Object.entries(fine))
    t.strictSame(judgeFailures(ask, binary, { asked: { prompt: 'Why?', response: 'So.' } }), [], name)
})

t.test('a question without a word in it is caught (M12)', async (t) => {
  const wordless = ({ response }: Sample) => prompt`${response.slice(0, 0)}`
  t.match(judgeFailures(wordless, binary), [/holds the response/, /asks about something, but .* has no text/])
  const asks = (sample: Sample) => prompt`Q: ${lastUserText(sample)} A: ${sample.response}`
  t.match(judgeFailures(asks, binary, { asked: { response: 'So.' } }), [
    /asks about something, but prompt: it has no text/,
  ])
})

t.test('step marks within a value are caught, marks between steps are not (M13)', async (t) => {
  const failed: string[] = []
  const runner: TestRunner = {
    ok: (holds, title) => holds || failed.push(title),
    strictSame: (found, wanted, title) =>
      JSON.stringify(found) === JSON.stringify(wanted) || failed.push(title),
  }
  const judge = (ask: (texts: readonly string[]) => ReturnType<typeof prompt>) =>
    defineModelReward({
      ask: 'rewards',
      truth: z.unknown(),
      range: [0, 1],
      rm_preprocess: ({ sample }) => ask(sample.response.split('\n\n')),
      rm_postprocess: (values) => Math.min(...values),
    })
  const cases = { asked: { response: 'One.\n\nTwo.' }, full: [1, 1], zero: [0, 1] }
  judgeContract(
    runner,
    judge((texts) => steps(texts, ' ки\n')),
    cases,
  )
  t.strictSame(failed, [])
  judgeContract(
    runner,
    judge((texts) => prompt`${texts.join('<extra_0>')}`),
    cases,
  )
  t.match(failed, [/asks about something, but .*write steps\(texts, mark\)/])
})

t.test('a scalar model answers with numbers, and its range may have no ends', async (t) => {
  const endless = defineModelReward({
    ask: 'classify',
    truth: z.unknown(),
    range: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
    rm_preprocess: ({ sample }) => guarded(sample),
    rm_postprocess: (answer) => answer,
  })
  judgeContract(t, endless, { asked: { response: 'Good day.' }, full: 7.5, zero: -7.5 })
})

t.test('a rule that only approaches the ends of its range declares how closely', async (t) => {
  const nearly = rule((response) => (response === 'good' ? 0.99 : 0.01))
  t.strictSame(failures(nearly, { within: 0.02 }), [])
})

t.test('a row is parsed, frozen and refused as in a worker', async (t) => {
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

t.test('lastUserText is the last user message, or else the last message', async (t) => {
  const messages = ['user', 'user', 'assistant'].map((role, i) => ({ role, content: `${i}` }))
  t.equal(lastUserText({ prompt: messages }), '1')
  t.equal(lastUserText({ prompt: messages.slice(2) }), '2')
  t.equal(lastUserText({ prompt: [] }), '')
  t.equal(lastUserText({ prompt: 'x' }), 'x')
})
