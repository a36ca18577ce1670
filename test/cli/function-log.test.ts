import t from 'tap'
import { Thrown } from '../../src/cli/rewards/score.ts'
import { FunctionFaults, redacted, textsOf } from '../../src/cli/serve/function-log.ts'
import { withLog } from '../../src/cli/serve/server-log.ts'
import type { FunctionFailed } from '../../src/scoring/functions/function-host.ts'
import { rule } from '../scoring/functions/author-files.ts'
import { fakeClock } from '../support/clock.ts'
import { openWith, sampleOf } from '../support/function-calls.ts'
import { withoutPython } from '../support/python.ts'
import { seeded } from '../support/seeded.ts'

const failed = (
  name: string,
  detail: string,
  error: string | null = null,
  response = '',
): FunctionFailed => ({
  name,
  op: 'score',
  cause: 'threw',
  failure: { kind: 'rule_error', retryable: false, detail },
  error,
  rows: [{ sample: sampleOf(response), earlier: {} }],
  answer: undefined,
})

t.test('serve logs without texts of samples (M28)', async (t) => {
  const folder = t.testdir({
    'faulty.mjs': rule(`
      if (sample.response.startsWith('throw')) throw new RangeError('no price in ' + sample.response)
      if (sample.response === 'nan') return NaN
      if (sample.response === 'hang') for (;;) {}
      if (sample.response === 'crash') process.exit(3)
      JSON.parse(sample.response)`),
    ...(!withoutPython && {
      'faulty_py.py': `
def price(text, depth):
    return float(text) if depth == 0 else price(text, depth - 1)

def compute_score(solution_str):
    return price(solution_str, 12)
`,
    }),
  })
  const lines: Record<string, unknown>[] = []
  const log = { warn: (line: Record<string, unknown>) => lines.push(line) } as never
  const { functions: events } = withLog({}, () => log)
  t.ok(events)
  const host = await openWith([folder], { ...(events && { events }) })
  t.teardown(() => host.close())
  const failing = async (name: string, response: string) => {
    lines.length = 0
    const sample = { ...sampleOf(response, { secret: 'Ljubljana' }), prompt: 'Where is Ljubljana?' }
    await host.call({ op: 'score', function: await host.bind(name, {}), rows: [{ sample, earlier: {} }] })
    return lines[0] ?? {}
  }

  t.test('an error with its place', async (t) => {
    t.match(await failing('faulty', 'throw 1759 Ljubljana'), {
      function: 'faulty',
      op: 'score',
      cause: 'threw',
      failure: 'rule_error',
      detail: /^score threw RangeError at faulty\.mjs:\d+:\d+$/,
      error: /^RangeError: no price in … … …\n/,
    })
  })

  t.test('a wrong result', async (t) => {
    t.match(await failing('faulty', 'nan'), { cause: 'returned', detail: 'score returned NaN' })
  })

  t.test('a hang', async (t) => {
    t.match(await failing('faulty', 'hang'), { cause: 'timeout', failure: 'rule_timeout' })
  })

  t.test('a crash', async (t) => {
    t.match(await failing('faulty', 'crash'), { cause: 'crash', detail: /exit code 3/ })
  })

  t.test('an error of the language whose message quotes the sample', async (t) => {
    const parsed = await failing('faulty', 'Ljubljana lies there')
    t.match(parsed, { error: /^SyntaxError: Unexpected token/ })
    t.notMatch(JSON.stringify(parsed), /Ljub/)
  })

  t.test('an error of Python, with its place', { skip: withoutPython }, async (t) => {
    const python = await failing('faulty_py', 'about 1759 Euros')
    t.match(python, {
      detail: /^score threw ValueError at faulty_py\.py:3$/,
      error: /\nValueError: could not convert string to float: '… … …'$/,
    })
    t.notMatch(JSON.stringify(python), /1759|Euros/)
  })
})

t.test(
  'each distinct failure of a function is logged immediately, and repeats are counted (M28)',
  async (t) => {
    const clock = fakeClock()
    const lines: object[] = []
    const faults = new FunctionFaults((line) => lines.push(line), clock)
    for (let time = 0; time < 1000; time++) faults.note(failed('a', 'score threw A at a.py:1'))
    faults.note(failed('a', 'score threw B at a.py:2'))
    faults.note(failed('b', 'score threw A at b.py:1'))
    t.equal(lines.length, 3)
    for (let place = 0; place < 1000; place++) faults.note(failed('b', `score threw A at b.py:${place}`))
    t.equal(lines.length, 7, 'five different ones a minute')
    clock.advance(59_000)
    faults.flush()
    t.equal(lines.length, 7)
    clock.advance(1000)
    faults.flush()
    t.strictSame(lines.slice(7), [
      { function: 'a', failures: 999, seconds: 60 },
      { function: 'b', failures: 996, seconds: 60 },
    ])
    faults.flush()
    t.equal(lines.length, 9)
    faults.note(failed('a', 'score threw A at a.py:1'))
    t.equal(lines.length, 10, 'at once again')
  },
)

t.test('a logged error contains no word of a sample (M28)', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const words = [
    'Ljubljana',
    '1759',
    'x7',
    'naïve',
    '答案',
    'Größe',
    'ŒUVRE',
    '３',
    'snake_case',
    "d'eau",
    'ключ',
  ]
  const shapes: ((text: string) => string)[] = [
    (text) => `Error: ${text}`,
    (text) => `KeyError: '${text}'`,
    (text) => `Error: ${text.toUpperCase()} / ${text.toLowerCase()}`,
    (text) => `Error: ${text.slice(2, 9)}... is not valid JSON`,
    (text) => `Error: ${JSON.stringify(text)}\n    at ${text} (file:1:2)`,
    (text) => `Error: ${text.split(' ').join('\\n')}`,
    (text) => `Error: ${text.normalize('NFD')}`,
  ]
  for (let round = 0; round < 500; round++) {
    const said = Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick(words))
    const sample = {
      ...sampleOf(said[0] ?? '', { key: [said[1] ?? null, { [said[2] ?? 'k']: said[3] ?? 1 }] }),
      prompt: [{ role: 'user', content: said.slice(2).join(' ') }],
    }
    const shown = redacted(pick(shapes)(said.join(' ')), textsOf(sample))
    for (const word of said.join(' ').split(/[^\p{L}\p{N}]+/u)) {
      if (word.length < 2) continue
      t.notOk(
        shown.normalize('NFKC').toLowerCase().includes(word.normalize('NFKC').toLowerCase()),
        `${word} in ${shown}`,
      )
    }
  }
  t.equal(
    redacted("TypeError: 'NoneType' object is not subscriptable", ['object none type']),
    "TypeError: 'NoneType' object is not subscriptable",
  )
})

t.test('score shows the end of a traceback, which has the message (M28)', async (t) => {
  const frames = Array.from({ length: 20 }, (_, at) => `  File "rule.py", line ${at}, in f\n    f()`)
  const traceback = [
    'Traceback (most recent call last):',
    ...frames,
    "TypeError: 'NoneType' object",
    '',
  ].join('\n')
  const thrown = new Thrown()
  thrown.note(failed('rule', 'score threw TypeError at rule.py:19', traceback))
  thrown.note(failed('rule', 'score returned NaN'))
  t.match(thrown.text(), /^1 x rule threw in score:\n {4}Traceback \(most recent call last\):\n/)
  t.match(thrown.text(), /\n {4}\(30 lines\)\n/)
  t.match(thrown.text(), /\n {4}TypeError: 'NoneType' object\n$/)
})
