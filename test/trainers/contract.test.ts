import { join } from 'node:path'
import t from 'tap'
import { trainerFormats } from '../../src/trainers/index.ts'
import { testApp } from '../support/app.ts'
import type { Row, TrainerCase } from './case.ts'
import { trainerCases } from './cases.ts'

const steps = [
  { name: 'number', function: 'echo-rule' },
  { name: 'truth', function: 'exact-match', weight: 0.5 },
]
const row = (response: string, truth: string): Row => {
  const question = `Is it ${response}?`
  return { id: question, question, response, truth }
}
const rows = [row('1', '1'), row('0.5', '1'), row('0', '0')]
const rewards = [1.5, 0.5, 0.5]
const broken = row('throw', '1')

const hole = 'what is odd'
const odds = ['null', '0', '""', '[]', '{}', '[null]', '{"__proto__":{"a":1}}', '"\\ud800"', '1e999']

/** Of every value within, the whole first. */
const placesOf = (value: unknown): string[][] =>
  typeof value !== 'object' || value === null
    ? [[]]
    : [[], ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner).map((path) => [key, ...path]))]

function replaced(value: unknown, [key, ...path]: readonly string[], by: string): unknown {
  if (key === undefined) return by
  if (Array.isArray(value))
    return value.map((inner, at) => (String(at) === key ? replaced(inner, path, by) : inner))
  return { ...(value as object), [key]: replaced((value as Record<string, unknown>)[key], path, by) }
}

const truths = t.testdir({
  'truths.jsonl': [...rows, broken]
    .map(({ question, truth }) => JSON.stringify({ prompt: question, ground_truth: truth }))
    .join('\n'),
})
const lookingUp = trainerFormats.filter(({ looksUp }) => looksUp)
const app = await testApp(t, {
  judged: { steps },
  lenient: { steps, on_invalid: -1 },
  gateway: {
    functions: { threads: 1 },
    trainers: Object.fromEntries(
      lookingUp.map(({ name }) => [name, { ground_truth_file: join(truths, 'truths.jsonl') }]),
    ),
  },
})

async function post({ path, read }: TrainerCase, body: unknown, count: number, reward = 'judged') {
  const { statusCode, body: text } = await app.inject({
    method: 'POST',
    url: path.replace('/judged', `/${reward}`),
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  })
  return { status: statusCode, said: statusCode === 200 ? read(text, count) : text }
}

t.test('every trainer format has a case, which the tests below, chaos and fuzzing use', async (t) => {
  const asked = Object.values(trainerCases).map(({ path }) => path.split('/')[2])
  for (const { name } of trainerFormats)
    t.ok(
      asked.includes(name),
      `${name}: write test/trainers/cases/${name}.ts, which says how its client asks`,
    )
})

for (const [name, trainer] of Object.entries(trainerCases)) {
  t.test(`${name}: each row gets its own reward, in order`, async (t) => {
    for (let at = 0; at < rows.length; at += trainer.rows) {
      const some = rows.slice(at, at + trainer.rows)
      t.strictSame(await post(trainer, trainer.body(some), some.length), {
        status: 200,
        said: rewards.slice(at, at + trainer.rows),
      })
    }
  })

  t.test(`${name}: a sample without a reward never silently becomes a number`, async (t) => {
    const failed = await post(trainer, trainer.body([broken]), 1)
    if (failed.status === 200) t.strictSame(failed.said, [null], 'the reply says that there is none')
    else t.match(failed, { status: 502, said: /RG_SAMPLES_FAILED/ }, 'the request fails')
    const { status, said } = await post(trainer, trainer.body([broken]), 1, 'lenient')
    t.equal(status, 200)
    t.ok(said[0] === null || said[0] === -1, `${said}: what on_invalid names, or none`)
  })

  t.test(
    `${name}: a body of another form is refused or a bad sample, never an error of the gateway`,
    async (t) => {
      const body = trainer.body(rows.slice(0, trainer.rows))
      for (const [index, path] of placesOf(body).entries()) {
        for (const odd of [0, 1, 2].map((shift) => odds[(index + 3 * shift) % odds.length] ?? '')) {
          const payload = JSON.stringify(replaced(body, path, hole)).replace(`"${hole}"`, odd)
          const headers = { 'content-type': 'application/json' }
          const answer = await app.inject({ method: 'POST', url: trainer.path, headers, payload })
          const where = `${path.join('.')}: ${odd}`
          t.ok([200, 400, 502].includes(answer.statusCode), `${where}: ${answer.statusCode} ${answer.body}`)
          t.doesNotThrow(() => JSON.parse(answer.body), where)
        }
      }
    },
  )
}
