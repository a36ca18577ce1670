import t from 'tap'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, judge } from '../../support/models.ts'
import { json, type Script, type Seen } from '../../support/scripted-server.ts'

const scores = (input: string[]) => ({
  model: 'm',
  data: input.map((text, index) => ({ index, probs: [text.length] })),
  usage: { prompt_tokens: 10 * input.length },
})

/** A text that is alone is no list. */
const inputsOf = ({ body }: Seen): string[] => [body.input].flat()

const classify: Script = (seen) => scores(inputsOf(seen))

const sizes = (seen: readonly Seen[]) => seen.map((one) => inputsOf(one).length)

t.test('inputs that come within the wait share a request, each gets its own score', async (t) => {
  const clock = fakeClock()
  const { ask, server } = await judge(t, [classify], { batch: { max_size: 3, max_wait_ms: 5 } }, { clock })
  const asked = ['a', 'bb', 'ccc', 'dddd', 'eeeee'].map((text) => ask(text, { ask: 'classify' }))
  await server.saw(1)
  clock.advance(5)
  const answers = await Promise.all(asked)
  t.strictSame(
    answers.map(({ answer }) => answer as unknown),
    [1, 2, 3, 4, 5],
  )
  t.strictSame(sizes(server.seen), [3, 2])
  t.equal(answers[0]?.tokens.prompt, 10)
})

t.test('embeddings of several questions share a request', async (t) => {
  const { ask, server } = await judge(t, [
    (seen) => ({
      model: 'm',
      data: seen.body.input.map((text: string, index: number) => ({ index, embedding: [text.length] })),
    }),
  ])
  const [one, two] = await Promise.all([
    ask(['a', 'bb'] as never, { ask: 'embed' }),
    ask(['ccc'] as never, { ask: 'embed' }),
  ])
  t.strictSame([one?.answer, two?.answer], [[[1], [2]], [[3]]] as never)
  t.equal(server.seen.length, 1)
})

t.test('the pairs of a cross encoder share a request', async (t) => {
  const { ask, server } = await judge(
    t,
    [
      ({ body }) => ({
        model: 'm',
        data: body.text_1.map((one: string, index: number) => ({
          index,
          score: Number(one + body.text_2[index]),
        })),
      }),
    ],
    { classify: { endpoint: 'score' } },
  )
  const pair = (one: string, two: string) => [
    { role: 'system', content: 'x' },
    { role: 'user', content: one },
    { role: 'assistant', content: two },
  ]
  const [first, second] = await Promise.all([
    ask(pair('1', '2'), { ask: 'classify' }),
    ask(pair('3', '4'), { ask: 'classify' }),
  ])
  t.strictSame([first?.answer, second?.answer], [12, 34] as never)
  t.equal(server.seen.length, 1)
})

t.test('one bad input fails alone', async (t) => {
  const inputs = Array.from({ length: 16 }, (_, i) => 'x'.repeat(i + 1))
  const bad = new Set(['x'.repeat(4), 'x'.repeat(11)])
  const refusals: [string, Script, string][] = [
    ['refused', (_seen, response) => json(response, { error: {} }, 400), 'judge_rejected'],
    [
      'too long',
      (_seen, response) => json(response, { error: { message: 'maximum context length' } }, 400),
      'prompt_too_long',
    ],
    ['a crash', (_seen, response) => json(response, {}, 500), 'judge_unreachable'],
    [
      'NaN',
      (_seen, response) => void response.end('{"model":"m","data":[{"index":0,"probs":[NaN]}]}'),
      'judge_unreachable',
    ],
  ]
  for (const [what, refuse, kind] of refusals) {
    const { ask, server } = await judge(
      t,
      [
        (seen, response) =>
          inputsOf(seen).some((text: string) => bad.has(text))
            ? refuse(seen, response)
            : classify(seen, response),
      ],
      { batch: { max_size: 16 }, retry: { max: 0 }, breaker: { failures: 1000 } },
    )
    const outcomes = await Promise.all(
      inputs.map((text) =>
        ask(text, { ask: 'classify' }).then(
          ({ answer }) => answer as unknown,
          (error) => error.failure.kind as unknown,
        ),
      ),
    )
    t.strictSame(
      outcomes,
      inputs.map((text) => (bad.has(text) ? kind : text.length)),
      what,
    )
    t.ok(server.seen.length <= 2 * 16 - 1)
  }
})

t.test('one unusable entry of a valid reply is retried alone', async (t) => {
  const { ask, server } = await judge(
    t,
    [
      (seen) => {
        const body = scores(inputsOf(seen))
        const [first] = body.data
        if (first && inputsOf(seen).length > 1) first.probs = [null as never]
        return body
      },
    ],
    { batch: { max_size: 3 } },
  )
  const answers = await Promise.all(['a', 'bb', 'ccc'].map((text) => ask(text, { ask: 'classify' })))
  t.strictSame(
    answers.map(({ answer }) => answer as unknown),
    [1, 2, 3],
  )
  t.strictSame(sizes(server.seen), [3, 1])
})

t.test('a server that is down fails all of a batch with one round of calls', async (t) => {
  const { ask, server } = await judge(t, [(_seen, response) => void response.destroy()], {
    batch: { max_size: 8 },
    retry: { max: 0 },
  })
  const failures = await Promise.all(
    Array.from({ length: 8 }, (_, i) => failureOf(ask(`q${i}`, { ask: 'classify' }))),
  )
  t.ok(failures.every(({ kind }) => kind === 'judge_unreachable'))
  t.equal(server.seen.length, 1)
})

t.test(
  'who leaves a batch before it is sent is not asked for; when all have left, the call ends',
  async (t) => {
    const clock = fakeClock()
    const { ask, server } = await judge(
      t,
      [() => undefined],
      { batch: { max_size: 4, max_wait_ms: 5 } },
      { clock },
    )
    const [early, one, two] = [new AbortController(), new AbortController(), new AbortController()]
    const gone = failureOf(ask('a', { ask: 'classify', signal: early.signal }))
    const first = failureOf(ask('b', { ask: 'classify', signal: one.signal }))
    const second = failureOf(ask('c', { ask: 'classify', signal: two.signal }))
    early.abort()
    t.match(await gone, { kind: 'cancelled' })
    clock.advance(5)
    await server.saw(1)
    t.strictSame(server.seen[0]?.body.input, ['b', 'c'])
    one.abort()
    two.abort()
    await Promise.all([first, second, server.seen[0]?.closed])
    const held: (() => void)[] = []
    server.script = (seen, response) => void held.push(() => json(response, classify(seen, response)))
    const three = new AbortController()
    const leaves = failureOf(ask('e', { ask: 'classify', signal: three.signal }))
    const stays = ask('ff', { ask: 'classify' })
    clock.advance(5)
    await server.saw(2)
    three.abort()
    t.match(await leaves, { kind: 'cancelled' })
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    held.pop()?.()
    t.match(await stays, { answer: 2 }, 'who stays gets the answer')
    const none = failureOf(ask('d', { ask: 'classify', signal: AbortSignal.abort() }))
    t.match(await none, { kind: 'cancelled' })
  },
)

t.test('a batch whose callers left before it was sent makes no call', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(t, [classify], {}, { clock })
  const client = new AbortController()
  const gone = failureOf(ask('a', { ask: 'classify', signal: client.signal }))
  client.abort()
  t.match(await gone, { kind: 'cancelled' })
  const later = models.next({ judge: configOf([server.url], { revision: 'later' }) })
  t.teardown(() => later.close())
  await models.close()
  t.equal(server.seen.length, 0, 'it gave its instances back and was asked for nothing')
})
