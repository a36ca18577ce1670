import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { AskError, AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { startSimulatedServer } from '../../../src/simulator/index.ts'
import { configOf, probesOff, question } from '../../support/models.ts'
import { vllmServers } from '../../support/vllm-servers.ts'

const conversation = [
  { role: 'system', content: 'You are a judge. Answer 1 for a right answer, 0 for a wrong one.' },
  { role: 'user', content: 'Question: 2 + 2. Answer: 4.' },
]

t.test('a vLLM server', async (t) => {
  const { generate, pooling } = await vllmServers(t)
  const deterministic = { sampling: { temperature: 0, max_tokens: 16 } }
  const models = openModels(
    {
      judge: configOf([generate.url], { model: generate.model, ...deterministic }),
      exact: configOf([generate.url], {
        model: generate.model,
        count_tokens: 'tokenize',
        ...deterministic,
      }),
      scoring: configOf([generate.url], {
        model: generate.model,
        choose: { endpoint: 'generative_scoring' },
      }),
      shared: configOf([generate.url], {
        model: generate.model,
        batch: { generate: true },
        ...deterministic,
      }),
      // A probe would find out before the question does.
      other: configOf([generate.url], { model: 'not-served', retry: { max: 0 }, ...probesOff }),
      scalar: configOf([pooling.url], { model: pooling.model }),
      pooled: configOf([pooling.url], { model: pooling.model, classify: { endpoint: 'pooling' } }),
      probed: configOf([generate.url], { model: generate.model, health: { interval_s: 10 } }),
      stranger: configOf([generate.url], {
        model: 'not-served',
        health: { interval_s: 10 },
        wait_for_instance: 0,
      }),
    },
    { clock: systemClock },
  )
  t.teardown(() => models.close())
  const ask = (request: Partial<AskRequest>) =>
    models.ask({ ...question(request.input, systemClock.now() + 120_000), ...request })

  t.test('answers a conversation and a plain prompt, and counts their tokens', async (t) => {
    for (const input of [conversation, 'Is 2 even? Answer:']) {
      const { answer, tokens } = await ask({ input })
      t.type((answer as { text: string }).text, 'string')
      t.match((answer as { finishReason: string }).finishReason, /^(stop|length)$/)
      t.ok(tokens.prompt > 0 && tokens.completion > 0)
    }
  })

  t.test('keeps its reply within a choice, a regex and a schema', async (t) => {
    const text = async (reply: AskRequest['reply']) => {
      const { answer } = await ask({ input: conversation, ...(reply && { reply }) })
      return (answer as { text: string }).text
    }
    t.match(await text({ choice: ['0', '1'] }), /^[01]$/)
    t.match(await text({ regex: '[01]' }), /^[01]$/)
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const
    const { answer } = await ask({ input: conversation, reply: { schema }, sampling: { max_tokens: 200 } })
    const { text: json, finishReason } = answer as { text: string; finishReason: string }
    if (finishReason === 'stop') t.type(JSON.parse(json).ok, 'boolean')
    t.ok(json.startsWith('{'))
  })

  t.test('reports logprobs in both forms', async (t) => {
    for (const input of [conversation, 'Is 2 even? Answer:']) {
      const { answer } = await ask({ input, sampling: { logprobs: 2, max_tokens: 2 } })
      const { logprobs = [] } = answer as { logprobs?: { logprob: number; top: unknown[] }[] }
      t.ok(logprobs.length > 0)
      t.ok(logprobs.every(({ logprob, top }) => logprob <= 0 && top.length > 0))
    }
  })

  t.test('tells the probability of labels, or that none is likely', async (t) => {
    try {
      const { answer } = await ask({
        ask: 'choose',
        input: { question: conversation, labels: ['0', '1'] },
      })
      const chances = answer as Record<string, number>
      t.strictSame(Object.keys(chances), ['0', '1'])
      t.ok(Math.abs((chances['0'] ?? 0) + (chances['1'] ?? 0) - 1) < 1e-9)
    } catch (error) {
      t.notOk(generate.isSensible)
      t.match((error as AskError).failure, { kind: 'judge_unparseable' })
    }
  })

  t.test('generative scoring returns the probability of single-token labels', async (t) => {
    const model = 'scoring'
    for (const question of [conversation, 'Is 2 even? Answer 1 or 0:']) {
      const input = { question, labels: ['0', '1'] }
      const scored = ask({ model, ask: 'choose', input })
      const [chances, logprobs] = await Promise.allSettled([scored, ask({ ask: 'choose', input })])
      if (chances.status === 'rejected') {
        t.notOk(generate.isSensible)
        t.match(chances.reason.failure, { kind: 'judge_unparseable' })
        continue
      }
      const { '0': zero = 0, '1': one = 0 } = chances.value.answer as Record<string, number>
      t.ok(Math.abs(zero + one - 1) < 1e-9)
      if (logprobs.status === 'fulfilled' && !generate.isSensible)
        t.ok(Math.abs((logprobs.value.answer as Record<string, number>)['1']! - one) < 0.02)
    }
    const words = { question: conversation, labels: ['an answer of many words', '1'] }
    const failure = await ask({ model, ask: 'choose', input: words }).catch(
      (error: AskError) => error.failure,
    )
    t.match(failure, { kind: 'judge_rejected', detail: /must be one/ })
    const long = { question: 'word '.repeat(9000), labels: ['0', '1'] }
    const cut = await ask({ model, ask: 'choose', input: long }).catch((error: AskError) => error.failure)
    t.match(cut, { kind: 'prompt_too_long' })
  })

  t.test('a seed and a draw decide a sampled text', async (t) => {
    const text = async (draw: number) => {
      const sampling = { temperature: 1, seed: 7, max_tokens: 8 }
      return ((await ask({ input: 'Once', sampling, draw })).answer as { text: string }).text
    }
    t.equal(await text(0), await text(0))
    if (!generate.isSensible) t.not(await text(0), await text(1))
  })

  t.test('a prompt over the window is prompt_too_long; a model that is not there is rejected', async (t) => {
    const tooLong = await ask({ input: 'word '.repeat(9000) }).catch((error: AskError) => error.failure)
    t.match(tooLong, { kind: 'prompt_too_long', retryable: false })
    const absent = await ask({ model: 'other', input: 'a' }).catch((error: AskError) => error.failure)
    t.match(absent, { kind: 'judge_rejected' })
  })

  t.test('texts that share a request come back to their own questions', async (t) => {
    const texts = ['2 + 2. Answer: 4.', '3 + 3. Answer: 5.', '4 + 4. Answer: 8.']
    for (const form of [(text: string) => text, (text: string) => [{ role: 'user', content: text }]]) {
      const answers = await Promise.all(
        texts.map((text) => ask({ model: 'shared', input: form(text), reply: { choice: ['0', '1'] } })),
      )
      t.ok(answers.every(({ answer }) => /^[01]$/.test((answer as { text: string }).text)))
      t.ok(answers.every(({ tokens }) => tokens.prompt > 0 && tokens.completion > 0))
      const long = 'word '.repeat(20_000)
      const [good, bad] = await Promise.allSettled(
        [texts[0] as string, long].map((text) => ask({ model: 'shared', input: form(text), draw: 1 })),
      )
      t.equal(good?.status, 'fulfilled')
      t.match((bad as PromiseRejectedResult).reason.failure, { kind: 'prompt_too_long' })
    }
    const labels = ['0', '1']
    const choices = await Promise.allSettled(
      texts.map((question) => ask({ model: 'shared', ask: 'choose', input: { question, labels } })),
    )
    for (const choice of choices) {
      if (choice.status === 'rejected') t.equal(choice.reason.failure.kind, 'judge_unparseable')
      else t.strictSame(Object.keys(choice.value.answer as object), labels)
    }
  })

  t.test('scalar scores are read from single questions, conversations and batches', async (t) => {
    const one = await ask({ model: 'scalar', ask: 'classify', input: 'a good answer' })
    t.ok(Number.isFinite(one.answer))
    const chat = await ask({ model: 'scalar', ask: 'classify', input: conversation })
    t.ok(Number.isFinite(chat.answer))
    const many = await Promise.all(
      ['b', 'a good answer', 'c'].map((input) => ask({ model: 'scalar', ask: 'classify', input, draw: 1 })),
    )
    t.ok(Math.abs((many[1]?.answer as number) - (one.answer as number)) < 1e-3)
    const pooled = await ask({ model: 'pooled', ask: 'classify', input: 'a good answer' })
    t.ok(Number.isFinite(pooled.answer))
  })

  t.test('the server counts tokens if the config says so', async (t) => {
    const patience = { deadline: systemClock.now() + 60_000, signal: new AbortController().signal }
    t.ok((await models.countTokens('exact', 'one two three', patience)) >= 3)
    t.ok((await models.countTokens('exact', conversation, patience)) > 10)
    t.equal(await models.countTokens('judge', 'x'.repeat(400), patience), 101)
    t.equal(await models.countTokens('judge', conversation, patience), 32 + 23)
  })

  t.test('probes tell the served model from another', async (t) => {
    const states = () =>
      models
        .snapshot()
        .filter(({ name }) => name === 'probed' || name === 'stranger')
        .map(({ instances }) => instances[0]?.state)
    while (states()[1] !== 'other-model') await new Promise(setImmediate)
    t.strictSame(states(), ['ready', 'other-model'])
    const failure = await ask({ model: 'stranger', input: 'a' }).catch((error: AskError) => error.failure)
    t.match(failure, { kind: 'judge_unreachable' })
  })

  if (!generate.isSensible) return
  t.test('a process reward model gives one number per step', async (t) => {
    const { answer } = await ask({
      model: 'scalar',
      ask: 'rewards',
      input: 'Step one: 2 + 2 = 4.<extra_0>Step two: 4 + 1 = 5.<extra_0>',
    })
    t.equal((answer as number[]).length, 2)
    t.ok((answer as number[]).every((value) => value >= 0 && value <= 1))
    const { answer: vectors } = await ask({ model: 'scalar', ask: 'embed', input: ['a', 'b'] })
    t.equal((vectors as number[][]).length, 2)
  })
})

// The forms of SGLang are those of its documentation: no real one is asked.
t.test('a simulated SGLang server', async (t) => {
  const [generate, pooling] = await Promise.all([
    startSimulatedServer({ runner: 'generate', model: 'm' }),
    startSimulatedServer({ runner: 'pooling', model: 'm' }),
  ])
  const models = openModels(
    {
      judge: configOf([generate.url], { backend: 'sglang', count_tokens: 'tokenize' }),
      scalar: configOf([pooling.url], { backend: 'sglang' }),
    },
    { clock: systemClock },
  )
  t.teardown(async () => {
    await models.close()
    await Promise.all([generate.close(), pooling.close()])
  })
  const ask = (request: Partial<AskRequest>) =>
    models.ask({ ...question(request.input, systemClock.now() + 60_000), ...request })

  await t.test('generates, from a text or a chat', async (t) => {
    t.match((await ask({ input: 'Is 2 even?' })).answer, { text: String, finishReason: 'stop' })
    t.match((await ask({ input: [{ role: 'user', content: 'Is 2 even?' }] })).answer, { text: String })
  })

  await t.test('classifies, one text or several at once', async (t) => {
    t.type((await ask({ model: 'scalar', ask: 'classify', input: 'a' })).answer, 'number')
    const many = ['b', 'c', 'd'].map((input) => ask({ model: 'scalar', ask: 'classify', input }))
    const answers = await Promise.all(many)
    t.strictSame(
      answers.map(({ answer }) => typeof answer),
      ['number', 'number', 'number'],
    )
  })

  await t.test('gives one reward a text and one vector a text', async (t) => {
    const rewards = await ask({ model: 'scalar', ask: 'rewards', input: 'e' })
    t.equal((rewards.answer as number[]).length, 1)
    const vectors = await ask({ model: 'scalar', ask: 'embed', input: ['a', 'b'] })
    t.equal((vectors.answer as unknown[]).length, 2)
  })

  await t.test('counts tokens', async (t) => {
    const patience = { deadline: systemClock.now() + 60_000, signal: new AbortController().signal }
    t.ok((await models.countTokens('judge', [{ role: 'user', content: 'one two' }], patience)) >= 2)
  })

  await t.test('chooses among labels', async (t) => {
    const input = { question: 'Is it? Answer Yes or No.', labels: ['Yes', 'No'] }
    t.strictSame(Object.keys((await ask({ ask: 'choose', input })).answer as object), ['Yes', 'No'])
  })
})
