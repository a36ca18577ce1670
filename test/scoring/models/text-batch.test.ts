import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { startSimulatedServer } from '../../../src/simulator/index.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, judge, question } from '../../support/models.ts'
import { json, type Script, type Seen } from '../../support/scripted-server.ts'

const chat = (content: string) => [{ role: 'user', content }]

/** The texts of a request in whatever form. */
const textsOf = ({ path, body }: Seen): string[] => {
  if (!body.messages) return [body.prompt ?? body.text].flat()
  const conversations: { content: string }[][] = path.endsWith('/batch') ? body.messages : [body.messages]
  return conversations.map(([message]) => message?.content ?? '')
}

/** Repeats each text, the last one first: what counts is the index. */
const echo: Script = (seen) => ({
  model: 'm',
  choices: textsOf(seen)
    .map((text, index) => ({ index, text, message: { content: text }, finish_reason: 'stop' }))
    .reverse(),
  usage: { prompt_tokens: 10 * textsOf(seen).length, completion_tokens: textsOf(seen).length },
})

const shared = { batch: { generate: true, max_size: 4, max_wait_ms: 5 } }

t.test('conversations share /v1/chat/completions/batch, plain prompts /v1/completions', async (t) => {
  const { ask, server } = await judge(t, [echo], shared)
  const asked = [chat('a'), 'b', chat('c'), 'd', chat('e')]
  const answers = await Promise.all(asked.map((input) => ask(input)))
  t.strictSame(
    answers.map(({ answer }) => answer.text),
    ['a', 'b', 'c', 'd', 'e'],
  )
  t.strictSame(answers[0]?.tokens, { prompt: 10, completion: 1 })
  const seen = new Map(server.seen.map((one) => [one.path, textsOf(one)]))
  t.strictSame(seen.get('/v1/chat/completions/batch'), ['a', 'c', 'e'])
  t.strictSame(seen.get('/v1/completions'), ['b', 'd'])
  t.equal(server.seen.length, 2)
})

t.test('without batch.generate, a text never waits for others', async (t) => {
  const { ask, server } = await judge(t, [echo])
  await Promise.all(['a', 'b'].map((text) => ask(chat(text))))
  t.strictSame(
    server.seen.map(({ path }) => path),
    ['/v1/chat/completions', '/v1/chat/completions'],
  )
})

t.test(
  'with batch.generate: auto short texts share a request, long ones and open ends go alone',
  async (t) => {
    const { ask, server } = await judge(t, [echo], { batch: { ...shared.batch, generate: 'auto' } })
    const choice = { choice: ['0', '1'] }
    const long = 'x'.repeat(4097)
    const wide = '語'.repeat(1366)
    const asked: [string, Parameters<typeof ask>[1]][] = [
      ['a', { reply: choice }],
      ['b', { reply: choice }],
      [long, { reply: choice }],
      [wide, { reply: choice }],
      ['c', { sampling: { max_tokens: 64 } }],
      ['x'.repeat(4096), { sampling: { max_tokens: 64 } }],
      ['d', { sampling: { max_tokens: 65 } }],
      ['e', {}],
      ['f', { reply: choice, sampling: { thinking: true } }],
    ]
    const answers = await Promise.all(asked.map(([text, more]) => ask(chat(text), more)))
    t.strictSame(
      answers.map(({ answer }) => answer.text),
      asked.map(([text]) => text),
    )
    const together = server.seen
      .filter(({ path }) => path.endsWith('/batch'))
      .map((one) => textsOf(one).join('').length)
    t.strictSame(together.sort(), [2, 4097])
    t.equal(server.seen.length, 7)
  },
)

t.test('questions with other settings or another prefix are batched separately', async (t) => {
  const { ask, server } = await judge(t, [echo], { ...shared, balance: 'prefix_affinity' })
  const choice = { choice: ['0', '1'] }
  await Promise.all([
    ask(chat('a')),
    ask(chat('b'), { reply: choice }),
    ask(chat('c'), { sampling: { max_tokens: 3 } }),
    ask(chat('d'), { prefix: 'other' }),
    ask(chat('e'), { sampling: { seed: 7 } }),
    ask(chat('f'), { sampling: { seed: 7 }, draw: 1 }),
    ask(chat('g')),
  ])
  t.strictSame(server.seen.map((one) => textsOf(one).join('')).sort(), ['ag', 'b', 'c', 'd', 'e', 'f'])
  const bodyOf = (text: string) => server.seen.find((one) => textsOf(one).includes(text))?.body
  t.strictSame(bodyOf('b').structured_outputs, choice)
  t.equal(bodyOf('c').max_tokens, 3)
  t.strictSame([bodyOf('e').seed, bodyOf('f').seed], [7, 8])
})

t.test(
  'a question goes at once where no request is under way, and waits for others where one is',
  async (t) => {
    const held: (() => void)[] = []
    const clock = fakeClock()
    const { ask, server } = await judge(
      t,
      [(seen, response) => void held.push(() => json(response, echo(seen, response)))],
      shared,
      { clock },
    )
    const first = ask(chat('a'))
    await server.saw(1)
    const later = ['b', 'c'].map((text) => ask(chat(text)))
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    t.equal(server.seen.length, 1)
    clock.advance(5)
    await server.saw(2)
    for (const answer of held) answer()
    t.equal((await first).answer.text, 'a')
    t.strictSame(
      (await Promise.all(later)).map(({ answer }) => answer.text),
      ['b', 'c'],
    )
  },
)

t.test('labels are chosen by the first token of each answer', async (t) => {
  const logprobs = (seen: Seen) => {
    const top = (text: string) => [
      { token: text, logprob: -0.1 },
      { token: 'no', logprob: -30 },
    ]
    return {
      model: 'm',
      choices: textsOf(seen).map((text, index) => ({
        index,
        message: { content: text },
        finish_reason: 'length',
        logprobs: { content: [{ token: text, logprob: -0.1, top_logprobs: top(text) }] },
      })),
    }
  }
  const { ask, server } = await judge(t, [logprobs], shared)
  const choose = (text: string, labels: string[]) =>
    ask({ question: chat(text), labels } as never, { ask: 'choose' })
  const [one, two, none] = await Promise.all([
    choose('A', ['A', 'B']),
    choose('C', ['C', 'D', 'E']),
    failureOf(choose('x', ['A', 'B'])),
  ])
  t.strictSame([one?.answer, two?.answer], [
    { A: 1, B: 0 },
    { C: 1, D: 0, E: 0 },
  ] as never)
  t.match(none, { kind: 'judge_unparseable' })
  t.equal(server.seen.length, 1)
})

t.test('a refused or malformed text fails no other text of its batch', async (t) => {
  const troubles: [string, Script, string][] = [
    ['refused', (_seen, response) => json(response, {}, 400), 'judge_rejected'],
    ['a crash', (_seen, response) => json(response, {}, 500), 'judge_unreachable'],
    [
      'half an answer',
      (seen) => {
        const { choices, ...body } = echo(seen, null as never) as { choices: { text: string }[] }
        const broken = choices.map((one) => (one.text === 'bad' ? { ...one, finish_reason: null } : one))
        return { ...body, choices: broken }
      },
      'judge_unreachable',
    ],
  ]
  for (const [what, trouble, kind] of troubles) {
    const { ask } = await judge(
      t,
      [(seen, response) => (textsOf(seen).includes('bad') ? trouble : echo)(seen, response)],
      { ...shared, retry: { max: 0 }, breaker: { failures: 1000 } },
    )
    const outcomes = await Promise.all(
      ['a', 'bad', 'c', 'd'].map((text) =>
        ask(chat(text)).then(
          ({ answer }) => answer.text,
          (error) => error.failure.kind as string,
        ),
      ),
    )
    t.strictSame(outcomes, ['a', kind, 'c', 'd'], what)
  }
})

t.test('an endless text costs the others of its batch one more call', async (t) => {
  const clock = fakeClock()
  const { ask, server } = await judge(
    t,
    [(seen, response) => (textsOf(seen).includes('endless') ? undefined : echo(seen, response))],
    { ...shared, timeout_s: 1, retry: { max: 0 } },
    { clock },
  )
  const endless = failureOf(ask(chat('endless')))
  const others = ['a', 'b', 'c'].map((text) => ask(chat(text)))
  await server.saw(1)
  clock.advance(1000)
  t.strictSame(
    (await Promise.all(others)).map(({ answer }) => answer.text),
    ['a', 'b', 'c'],
  )
  await server.saw(5)
  clock.advance(1000)
  t.match(await endless, { kind: 'judge_timeout' })
})

t.test("the openai backend shares plain prompts alone, SGLang's takes lists at /generate", async (t) => {
  const openai = await judge(t, [echo], { ...shared, backend: 'openai' })
  await Promise.all(['a', 'b'].map((text) => openai.ask(text)))
  await Promise.all(['c', 'd'].map((text) => openai.ask(chat(text))))
  t.strictSame(openai.server.seen.map(({ path }) => path).sort(), [
    '/v1/chat/completions',
    '/v1/chat/completions',
    '/v1/completions',
  ])
  const native: Script = (seen) =>
    textsOf(seen).map((text) => ({
      text,
      meta_info: { finish_reason: text === 'x' ? null : { type: 'stop' }, prompt_tokens: 3 },
    }))
  const sglang = await judge(t, [native], { ...shared, backend: 'sglang', retry: { max: 0 } })
  const outcomes = await Promise.all(
    ['a', 'x', 'b'].map((text) =>
      sglang.ask(text).then(
        ({ answer }) => answer.text,
        (error) => error.failure.kind as string,
      ),
    ),
  )
  t.strictSame(outcomes, ['a', 'judge_unreachable', 'b'])
  t.strictSame(sglang.server.seen.map((one) => [one.path, one.body.text]).slice(0, 1), [
    ['/generate', ['a', 'x', 'b']],
  ])
})

t.test('sharing changes no verdict of a simulated judge', async (t) => {
  const server = await startSimulatedServer({ runner: 'generate', model: 'm', seed: 3 })
  const more = { sampling: { temperature: 0 }, cache: 'never' }
  const models = openModels(
    { alone: configOf([server.url], more), judge: configOf([server.url], { ...more, ...shared }) },
    { clock: systemClock },
  )
  t.teardown(async () => {
    await models.close()
    await server.close()
  })
  const inputs = Array.from({ length: 48 }, (_, i) => {
    const text = `Is the answer right? Reply 1 or 0.\nQuestion: ${i % 7} + ${i % 5}\nAnswer: ${i % 7} + ${i % 5} = ${(i % 7) + (i % 3)}`
    return i % 4 === 0 ? text : chat(text)
  })
  const textsBy = (model: string) =>
    Promise.all(
      inputs.map(async (input) => {
        const asked = { ...question(input, systemClock.now() + 60_000), model }
        return ((await models.ask(asked)).answer as { text: string }).text
      }),
    )
  const alone = await textsBy('alone')
  t.strictSame(await textsBy('judge'), alone)
  t.ok(new Set(alone).size > 1, 'verdicts differ from question to question')
})
