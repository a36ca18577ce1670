import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { answerNames, type Decided, type DecisionQuestion } from '../../../src/contract/decision.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { Message } from '../../../src/core/sample/sample.ts'
import type { AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { RenderedMessage } from '../../../src/scoring/models/interface/question-json.ts'
import { configOf, failureOf, judge, question } from '../../support/models.ts'
import { completion, json, type Script, type Seen } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

/** What `test/fixtures/decisions.py` checked and wrote with the models of the published packages. */
interface Case {
  readonly wire: string
  readonly backend: string
  readonly asked: readonly DecisionQuestion[]
  /** As text: the order of options is that of their labels. */
  readonly request: string
  /** The probabilities of each question's answers, in the author's order, and their mass. */
  readonly drawn: readonly { readonly probabilities: readonly number[]; readonly mass: number | null }[]
  readonly reply: unknown
}

const about: readonly Message[] = [
  { role: 'user', content: 'Question:\n⟦ab\n2 + 2?\nab⟧\n\nAnswer:\n⟦cd\n4 "four" \u2028\ncd⟧' },
]
const yesno: DecisionQuestion = { question: 'Is it right?', as: { yesno: {} } }
const described: DecisionQuestion = {
  question: 'Is it polite?',
  as: { yesno: { yes: 'it is polite', no: 'it is rude' } },
}
const choice: DecisionQuestion = {
  question: 'Which language?',
  as: {
    choice: [
      { name: '10', description: 'ten' },
      { name: '2' },
      { name: 'is "odd"', description: '__proto__' },
    ],
  },
}
const levels: DecisionQuestion = {
  question: 'How good?',
  as: { levels: ['1 bad', '0 fair', 'good'] },
}
const file = join(import.meta.dirname, '../../../../test/fixtures/decisions.json')
const cases = JSON.parse(readFileSync(file, 'utf8')) as readonly Case[]

/** Questions about one text, asked together. */
async function together(
  t: Test,
  script: Script,
  asked: readonly DecisionQuestion[],
  config: Record<string, unknown>,
  text = about,
) {
  const { ask, server } = await judge(t, [script], { retry: { max: 0 }, ...config })
  const each = asked.map((one) =>
    ask({ about: text, asked: one } as never, { ask: 'decide' } as Partial<AskRequest>),
  )
  const done = await Promise.allSettled(each)
  const answers = done.map((one) =>
    one.status === 'fulfilled'
      ? (one.value.answer as unknown as Decided)
      : (one.reason.failure as { kind: string; detail: string }),
  )
  return { server, answers }
}

t.test('every wire is asked and read as the published packages do it', async (t) => {
  for (const { wire, backend, asked, request, drawn, reply } of cases) {
    const { server, answers } = await together(t, () => reply, asked, { backend, decide: { wire } })
    t.equal(server.seen.length, 1, `${wire} of ${backend}: ${asked.length} questions share a request`)
    t.equal(server.seen[0]?.text, request, `${wire}: the request is the one that was checked`)
    for (const [at, { probabilities, mass }] of drawn.entries()) {
      const answer = answers[at] as Decided
      const names = answerNames(asked[at]?.as ?? { levels: [] }).join()
      t.ok(
        answer.probabilities?.every((one, index) => Math.abs(one - (probabilities[index] ?? 2)) < 1e-6),
        `${wire}: the probabilities of ${names}`,
      )
      if (mass === null) t.equal(answer.mass, null)
      else t.ok(Math.abs((answer.mass ?? 2) - mass) < 1e-6, `${wire}: the mass`)
    }
  }
})

/** A copy of a reply in which one place is something else. */
function changed(reply: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const copy = structuredClone(reply) as Record<string | number, unknown>
  const parent = path
    .slice(0, -1)
    .reduce<Record<string | number, unknown>>((at, key) => at[key] as never, copy)
  const last = path.at(-1) ?? ''
  if (value === undefined) delete parent[last]
  else parent[last] = value
  return copy
}

const isAnswer = (answer: object): answer is Decided => 'probabilities' in answer

t.test('an answer that is not the promised one fails alone, and is never a number', async (t) => {
  const mapped: [string, (string | number)[], unknown][] = [
    ['no answer', ['q2'], undefined],
    ['null', ['q2'], null],
    ['another type', ['q2', 'type'], 'choice'],
    ['a refusal', ['q2'], { type: 'refusal', name: 'q2' }],
    ['an unknown label', ['q3', 'probabilities', 'maybe'], 0],
    ['a label is missing', ['q3', 'probabilities', '10'], undefined],
    ['a choice that was not asked', ['q3', 'choice'], '11'],
    ['above 1', ['q3', 'probabilities', '2'], 1.2],
    ['below 0', ['q3', 'probabilities', '2'], -0.1],
    ['no number', ['q3', 'probabilities', '2'], '0.5'],
    ['null in place of NaN', ['q3', 'probabilities', '2'], null],
    ['a sum of 1.3', ['q4', 'probabilities', '0'], 0.9],
    ['all zero', ['q4', 'probabilities'], { 0: 0, 1: 0, 2: 0 }],
    ['a score of other probabilities', ['q4', 'score'], 7],
  ]
  const bad: Record<string, typeof mapped> = {
    sglang: [
      ...mapped,
      ['no mass', ['q2', 'label_mass'], undefined],
      ['a mass of 2', ['q2', 'label_mass'], 2],
    ],
    systemone: [...mapped, ['two probabilities of yes', ['q1', 'probabilities'], { yes: 0.5, no: 0.5 }]],
    vllm: [
      ['null', [1], null],
      ['another name', [1, 'name'], 'q3'],
      ['no name', [1, 'name'], null],
      ['another type', [1, 'type'], 'predicate'],
      ['a refusal', [1], { type: 'refusal', name: 'q2' }],
      ['a word for a boolean', [1, 'probabilities', 0, 'value'], 'true'],
      ['a choice that was not asked', [2, 'choice'], '11'],
      ['another order', [3, 'probabilities', 0, 'label'], 'good'],
      ['a sum of 1.5', [2, 'probabilities', 0, 'probability'], 0.9],
      ['above 1', [2, 'probabilities', 0, 'probability'], 1.5],
      ['no probability', [2, 'probabilities', 0, 'probability'], undefined],
      ['no confidence', [2, 'confidence'], undefined],
      ['a confidence of 3', [2, 'confidence'], 3],
      ['a score of other probabilities', [3, 'score'], 0.001],
    ],
    openai: [
      ['a refusal', [0], { type: 'refusal', name: 'q1' }],
      ['a refusal of another', [0], { type: 'refusal', name: null }],
      ['another name', [0, 'name'], 'q2'],
      ['above 1', [0, 'probability'], 1.01],
      ['below 0', [0, 'probability'], -0.01],
      ['no number', [0, 'probability'], null],
      ['a label that was not asked', [3, 'probabilities', 1, 'label'], 'fine'],
      ['one label twice', [3, 'probabilities', 1, 'label'], '1 bad'],
    ],
  }
  for (const { wire, backend, asked, reply } of cases) {
    for (const [name, path, value] of bad[wire] ?? []) {
      if (backend === 'sglang' && name === 'two probabilities of yes') continue
      const broken = changed(reply, ['answers', ...path], value)
      const { answers, server } = await together(t, () => broken, asked, { backend, decide: { wire } })
      const at = typeof path[0] === 'number' ? path[0] : Number(String(path[0]).slice(1)) - 1
      const failed = answers.flatMap((one, index) => (isAnswer(one) ? [] : [index]))
      t.strictSame(failed, [at], `${wire} of ${backend}: ${name} fails that question only`)
      t.match(answers[at], { kind: 'judge_unparseable' }, `${wire}: ${name}`)
      t.ok(server.seen.length <= 2, 'the others are not asked again')
    }
  }
})

t.test('a reply to another request, of another model or in other words is no answer', async (t) => {
  for (const { wire, backend, asked, reply } of cases) {
    const config = { backend, decide: { wire }, batch: { max_size: 1 } }
    const given = reply as { answers: Record<string, unknown> & unknown[] }
    const isList = Array.isArray(given.answers)
    const [first] = isList ? given.answers : [given.answers.q1]
    const of = (answers: unknown) => ({ ...given, answers })
    const replies: [string, unknown][] = [
      ['another id', of(isList ? [{ ...(first as object), name: 'q9' }] : { q9: first })],
      ['an answer too many', of(isList ? [first, first] : { q1: first, q9: first })],
      ['no answers', of(undefined)],
      ['answers of another form', of(isList ? { q1: first } : [first])],
      ['another model', { ...of(isList ? [first] : { q1: first }), model: 'other' }],
      ['no model', { ...of(isList ? [first] : { q1: first }), model: undefined }],
      ['no object', []],
      ['an error', { ...of(isList ? [first] : { q1: first }), error: { message: 'no' } }],
      ...(wire === 'sglang'
        ? [['another wording', { ...of({ q1: first }), prompt_format_version: 2 }] as [string, unknown]]
        : []),
    ]
    for (const [name, broken] of replies) {
      const { answers } = await together(t, () => broken, [asked[0] as DecisionQuestion], config)
      t.notOk(isAnswer(answers[0] ?? {}), `${wire} of ${backend}: ${name}`)
    }
  }
})

t.test(
  'whatever a reply holds, an answer is a distribution over the asked answers or a failure',
  async (t) => {
    const seed = Number(process.env.SEED ?? 25)
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    const values = [
      null,
      true,
      '',
      'yes',
      -1,
      0,
      0.5,
      1,
      1e308,
      [],
      {},
      { type: 'refusal' },
      [0.5, 0.5],
      'NaN',
    ]
    const mutated = (reply: unknown): unknown => {
      const copy = structuredClone(reply)
      let at = copy as Record<string, unknown>
      for (;;) {
        const keys = Object.keys(at)
        const key = pick(keys)
        const inner = at[key]
        if (typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0 && random() < 0.85) {
          at = inner as Record<string, unknown>
          continue
        }
        if (random() < 0.2) delete at[key]
        else at[key] = pick(values)
        return copy
      }
    }
    for (const { wire, backend, asked, reply } of cases) {
      let current: unknown = reply
      const { ask } = await judge(t, [() => current], {
        backend,
        decide: { wire },
        retry: { max: 0 },
        breaker: { failures: 1_000_000 },
        cache: 'never',
      })
      let answered = 0
      for (let round = 0; round < 60; round++) {
        current = mutated(reply)
        const said = await Promise.allSettled(
          asked.map((one) => ask({ about, asked: one } as never, { ask: 'decide' } as Partial<AskRequest>)),
        )
        for (const [at, one] of said.entries()) {
          if (one.status === 'rejected') {
            t.ok(one.reason.failure.kind.startsWith('judge_'), 'a failure has a name')
            continue
          }
          answered += 1
          const { probabilities, expected, mass } = one.value.answer as unknown as Decided
          const sum = probabilities.reduce((total, p) => total + p, 0)
          const count = answerNames((asked[at] as DecisionQuestion).as).length
          const isGood =
            probabilities.length === count &&
            probabilities.every((p) => p >= 0 && p <= 1) &&
            Math.abs(sum - 1) < 1e-9 &&
            expected >= 0 &&
            expected <= 1 &&
            (mass === null ? wire !== 'sglang' : mass >= 0.5 && mass <= 1)
          if (!isGood) t.fail(`${wire}: ${JSON.stringify(one.value.answer)}`)
        }
      }
      t.ok(answered > 20, `${wire} of ${backend}: ${answered} answers were good`)
    }
  },
)

const letters = (top: Readonly<Record<string, number>>): Script => {
  const entries = Object.entries(top).map(([token, p]) => ({ token, logprob: Math.log(p) }))
  const [first] = entries
  return (seen) =>
    completion(seen, first?.token ?? '', { logprobs: { content: [{ ...first, top_logprobs: entries }] } })
}

t.test('choose asks any server for the first token, with the answers by letter', async (t) => {
  const { server, answers } = await together(t, letters({ B: 0.6, A: 0.3, ' C': 0.05 }), [levels], {})
  t.equal(server.seen[0]?.path, '/v1/chat/completions')
  t.match(server.seen[0]?.body, {
    max_tokens: 1,
    temperature: 0,
    top_logprobs: 20,
    messages: [
      {
        role: 'user',
        content: `${about[0]?.content}\n\nQuestion: How good?\nA: 1 bad\nB: 0 fair\nC: good\nAnswer with the letter of one option only.`,
      },
    ],
  })
  const [answer] = answers as [Decided]
  t.ok(Math.abs(answer.expected - (0.6 * 0.5 + 0.05) / 0.95) < 1e-9)
  t.ok(Math.abs((answer.mass ?? 0) - 0.95) < 1e-9)
  const unsure = await together(t, letters({ Well: 0.7, A: 0.2, B: 0.05, C: 0.05 }), [levels], {})
  t.match(unsure.answers[0], {
    kind: 'judge_unparseable',
    detail: /0\.300 of the probability, less than decide\.min_mass \(0\.5\)/,
  })
  const low = { decide: { min_mass: 0.25 } }
  t.ok(
    isAnswer(
      (await together(t, letters({ Well: 0.7, A: 0.2, B: 0.05, C: 0.05 }), [levels], low)).answers[0] ?? {},
    ),
  )
})

t.test(
  'min_mass holds for each question alone; where a reply tells no mass, it cannot be asked for',
  async (t) => {
    const [first] = cases
    if (!first) return
    const masses = first.drawn.map(({ mass }) => mass ?? 0)
    const least = [...masses].sort((a, b) => a - b)[1] as number
    const { answers } = await together(t, () => first.reply, first.asked, {
      decide: { wire: 'vllm', min_mass: least - 1e-4 },
    })
    t.equal(answers.filter((one) => !isAnswer(one)).length, 1)
    t.match(answers[masses.indexOf(Math.min(...masses))], { kind: 'judge_unparseable', detail: /min_mass/ })
    const hosted = { model: 'm', answers: { q1: { type: 'noul', noul: 0.7, confidence: 0.7 } }, usage: {} }
    const config = { backend: 'openai', decide: { wire: 'systemone' } }
    const told = await together(t, () => hosted, [yesno], config)
    t.match(told.answers[0], { probabilities: [0.7, 1 - 0.7], expected: 0.7, mass: null })
    const asked = { ...config, decide: { wire: 'systemone', min_mass: 0.1 } }
    t.match((await together(t, () => hosted, [yesno], asked)).answers[0], {
      kind: 'judge_unparseable',
      detail: /mass/,
    })
  },
)

t.test('a probability of yes of another type is no number, and odd diagnostics are not absent', async (t) => {
  const config = { backend: 'openai', decide: { wire: 'systemone' } }
  const of = async (answer: object, more: object = {}) => {
    const reply = { model: 'm', answers: { q1: { type: 'noul', ...answer } }, usage: {}, ...more }
    const { answers } = await together(t, () => reply, [yesno], config)
    return answers[0]
  }
  const certain = { yes: 1, no: 0 }
  const never = { yes: 0, no: 1 }
  const odd: readonly object[] = [
    { noul: null, probabilities: never },
    { noul: false, probabilities: never },
    { noul: '', probabilities: never },
    { noul: [], probabilities: never },
    { probabilities: never },
    { noul: true, probabilities: certain },
    { noul: '1', probabilities: certain },
    { noul: [1], probabilities: certain },
    { noul: true },
    { noul: 1, probabilities: [] },
    { noul: 1, probabilities: { yes: true, no: false } },
    { noul: 1, x_label_mass: '0.9' },
    { noul: 1, x_label_mass: [0.9] },
    { noul: 1, x_label_mass: true },
  ]
  for (const answer of odd)
    t.match(await of(answer), { kind: 'judge_unparseable' }, `no number for ${JSON.stringify(answer)}`)
  for (const diagnostics of [[], {}, '', 0, false, [{ label_mass: 1 }], { q1: null }, { q1: [] }, { q2: {} }])
    t.match(
      await of({ noul: 1, x_label_mass: 1 }, { diagnostics }),
      { kind: 'judge_unparseable' },
      `no number beside diagnostics ${JSON.stringify(diagnostics)}`,
    )
  t.match(await of({ noul: 1, x_label_mass: 1 }, { diagnostics: null }), { expected: 1, mass: 1 })
})

t.test('what a wire does not take is refused by name, without a call', async (t) => {
  const many = (count: number): DecisionQuestion => ({
    question: 'Which?',
    as: { choice: Array.from({ length: count }, (_, at) => ({ name: `option ${at}` })) },
  })
  for (const [wire, backend, most] of [
    ['vllm', 'vllm', 26],
    ['sglang', 'sglang', 26],
    ['choose', 'vllm', 20],
    ['systemone', 'sglang', 255],
  ] as const) {
    const { server, answers } = await together(t, () => ({}), [many(most + 1)], { backend, decide: { wire } })
    t.match(answers[0], {
      kind: 'judge_rejected',
      retryable: false,
      detail: `decide.wire ${wire} takes ${most} options, and the question has ${most + 1}`,
    })
    t.equal(server.seen.length, 0)
  }
  const absent = await together(t, (_seen, response) => json(response, {}, 501), [yesno], {
    decide: { wire: 'vllm' },
  })
  t.match(absent.answers[0], { kind: 'judge_rejected', detail: /501/ })
})

t.test('more questions than a request takes are sent in several', async (t) => {
  const asked = Array.from({ length: 70 }, (_, at) => ({ question: `Is it ${at}?`, as: { yesno: {} } }))
  const says = ({ body }: Seen) => ({
    model: 'm',
    answers: body.questions.map(({ name, instructions }: Record<string, string>) => {
      const yes = Number(instructions?.match(/\d+/)?.[0]) / 100
      return {
        type: 'choice',
        name,
        choice: yes >= 0.5,
        probabilities: [
          { value: true, probability: yes },
          { value: false, probability: 1 - yes },
        ],
        confidence: Math.max(yes, 1 - yes),
      }
    }),
    usage: { input_tokens: 70, output_tokens: 70 },
  })
  const { server, answers } = await together(t, says, asked, {
    decide: { wire: 'vllm' },
    batch: { max_size: 1000 },
  })
  t.strictSame(
    server.seen.map(({ body }) => body.questions.length),
    [64, 6],
  )
  t.ok(
    answers.every((one, at) => isAnswer(one) && Math.abs(one.expected - at / 100) < 1e-9),
    'each has its own answer',
  )
})

t.test(
  'an answer is cached for how it was asked: another wire, least mass or revision is another question',
  async (t) => {
    const { models, server } = await judge(t, [letters({ A: 0.9, B: 0.05, C: 0.02 })])
    const ask = (of: typeof models) =>
      of.ask({
        ...question({ about, asked: levels }, systemClock.now() + 60_000),
        ask: 'decide',
      } as AskRequest)
    await ask(models)
    t.equal((await ask(models)).source, 'cache')
    for (const [at, more] of [
      { decide: { min_mass: 0.1 } },
      { revision: '2' },
      { decide: { wire: 'vllm' } },
    ].entries()) {
      const other = models.next({ judge: configOf([server.url], { retry: { max: 0 }, ...more }) })
      await ask(other).catch(() => {})
      t.equal(server.seen.length, 2 + at, JSON.stringify(more))
      await other.close()
    }
  },
)

t.test('questions about different texts never share a request', async (t) => {
  const { ask, server } = await judge(t, [() => ({})], {
    decide: { wire: 'vllm' },
    retry: { max: 0 },
  })
  const of = (content: string) =>
    failureOf(ask({ about: [{ role: 'user', content }], asked: yesno } as never, { ask: 'decide' }))
  await Promise.all([of('a'), of('b')])
  t.strictSame(server.seen.map(({ body }) => body.input).sort(), ['a', 'b'])
})

t.test('images go where each wire takes them', async (t) => {
  const image = {
    sha256: 'a'.repeat(64),
    size: 3,
    mediaType: 'image/png',
    tokens: 10,
    bytes: { base64: 'AAAA' },
  }
  const pieces = ['Look: ', { text: '', image }, ' What is it?'] as never
  const text = [new RenderedMessage('user', pieces, true)]
  const url = 'data:image/png;base64,AAAA'
  const bodyOf = async (wire: string, backend: string) =>
    (await together(t, () => ({}), [yesno], { backend, decide: { wire } }, text)).server.seen[0]?.body
  t.match(await bodyOf('systemone', 'vllm'), { state: 'Look:  What is it?', images: [url] })
  t.match(await bodyOf('sglang', 'sglang'), { input: 'Look:  What is it?', images: [url] })
  t.match(await bodyOf('openai', 'openai'), {
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look: ' },
          { type: 'input_image', image_url: url },
          { type: 'input_text', text: ' What is it?' },
        ],
      },
    ],
  })
  t.match((await bodyOf('choose', 'vllm')).messages[0].content[1], { type: 'image_url' })
  const several = await together(
    t,
    () => ({}),
    [yesno, described, levels],
    { decide: { wire: 'systemone' } },
    text,
  )
  const shared = several.server.seen[0]?.body
  t.match(shared, { images: [url], questions: { q2: {}, q3: {} } }, 'questions about one image share it')
  const { ask, server } = await judge(t, [() => ({})], { retry: { max: 0 }, decide: { wire: 'systemone' } })
  const moved = [new RenderedMessage('user', [...pieces].reverse() as never, true)]
  await Promise.allSettled(
    [text, moved].map((about) =>
      ask({ about, asked: yesno } as never, { ask: 'decide' } as Partial<AskRequest>),
    ),
  )
  t.equal(server.seen.length, 2, 'an image at another place makes another text')
  const { answers } = await together(t, () => ({}), [yesno], { decide: { wire: 'vllm' } }, text)
  t.match(answers[0], {
    kind: 'judge_rejected',
    detail: 'decide.wire vllm takes no images, and the question shows 1',
  })
})

if (process.env.RECORD)
  t.test('writes the requests, for test/fixtures/decisions.py', async (t) => {
    const wires = [
      ['vllm', 'vllm'],
      ['systemone', 'vllm'],
      ['sglang', 'sglang'],
      ['systemone', 'sglang'],
      ['openai', 'openai'],
    ] as const
    const made: Partial<Case>[] = []
    for (const [wire, backend] of wires) {
      const asked = [yesno, described, choice, levels]
      const { server } = await together(t, () => ({}), asked, { backend, decide: { wire } })
      made.push({ wire, backend, asked, request: server.seen[0]?.text ?? '' })
    }
    writeFileSync(file, `${JSON.stringify(made, null, 1)}\n`)
  })
