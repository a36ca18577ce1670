/**
 * The model side against a real vLLM on this machine's processors: `npm run test:vllm`. Not one of the tests that `npm test`
 * runs: it installs 6 GB, starts four servers of 3 GB each, three of them at once, and takes some minutes.
 */
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import type { AskRequest } from '../../src/scoring/models/interface/ask.ts'
import { openModels } from '../../src/scoring/models/models.ts'
import { outcomesOf, sampleOf, testGateway } from '../support/gateway.ts'
import { configOf, failureOf, question } from '../support/models.ts'
import { attackVllm } from './attacks.ts'
import { installedVllm, tinyModel } from './environment.ts'
import { evaluateVllm } from './evaluate.ts'
import { askAboutImages } from './images.ts'
import { askPresets } from './presets.ts'
import { startVllm } from './vllm-server.ts'

t.setTimeout(3_600_000)
// Without a plan, tap ends the file where it waits for something outside of a test.
t.plan(10)
// Servers and sockets are left; tap has not set the exit code yet.
t.teardown(() => process.exit(t.passing() ? 0 : 1))

const program = await installedVllm()
const generative = await tinyModel('generate')
const scalar = await tinyModel('classify')
const [one, two, pooling] = await Promise.all([
  startVllm(program, 'tiny-judge', generative),
  startVllm(program, 'tiny-judge', generative),
  startVllm(program, 'tiny-scalar', scalar, ['--runner', 'pooling']),
])
const urls = [one.url, two.url]
const later = () => systemClock.now() + 600_000

await t.spawn(
  process.execPath,
  ['dist/test/scoring/models/vllm.test.js'],
  {
    env: {
      ...process.env,
      TAP_TIMEOUT: '1800',
      REWARD_GATEWAY_VLLM_GENERATE: `${one.url}#tiny-judge`,
      REWARD_GATEWAY_VLLM_POOLING: `${pooling.url}#tiny-scalar`,
    },
    timeout: 1_800_000,
  },
  'the tests of the vllm backend',
)

/** A gateway with rewards of one step each over models of both servers. */
const gatewayOf = (t: Parameters<typeof testGateway>[0], steps: Record<string, object>) =>
  testGateway(
    t,
    Object.fromEntries(
      Object.entries(steps).map(([name, step]) => [
        name,
        {
          models: {
            judge: {
              model: 'tiny-judge',
              instances: urls,
              max_in_flight: 16,
              cache: 'never',
              // Longer than any of these tests: a server that was killed is not tried again meanwhile.
              breaker: { open_s: 60 },
              sampling: { temperature: 0, max_tokens: 64 },
            },
            scalar: { model: 'tiny-scalar', instances: [pooling.url] },
          },
          steps: [{ name: 'term', ...step }],
        },
      ]),
    ),
  )

await t.test(
  'a judge with a structured reply gives a valid row; without one the row is invalid',
  async (t) => {
    const gateway = await gatewayOf(t, {
      judged: { function: 'digit-judge', model: 'judge' },
      free: { function: 'free-judge', model: 'judge' },
    })
    const rows = Array.from({ length: 8 }, (_, i) => sampleOf(`the answer is ${i}`))
    for (const outcome of await outcomesOf(gateway, 'judged', rows)) {
      t.ok(outcome.valid)
      t.match(outcome.valid && outcome.reward, /^[01]$/)
    }
    for (const outcome of await outcomesOf(gateway, 'free', rows))
      t.match(outcome, { valid: false, failure: { kind: /^judge_(unparseable|truncated)$/ } })
  },
)

await t.test('attacks stay text for the tokenizer, and the only verdict is what the judge replies', (t) =>
  attackVllm(t, one.url, 'tiny-judge'),
)

await t.test('a data set of 50 rows is evaluated', (t) => evaluateVllm(t, urls))

await t.test(
  'prefix affinity finds all of the prompts in the caches that one server alone finds, and more than taking turns',
  async (t) => {
    const model = { model: 'tiny-judge', cache: 'never', sampling: { temperature: 0, max_tokens: 1 } }
    const models = openModels(
      {
        near: configOf(urls, { ...model, balance: 'prefix_affinity' }),
        least: configOf(urls, model),
        first: configOf([one.url], model),
        second: configOf([two.url], model),
      },
      { clock: systemClock },
    )
    t.teardown(() => models.close())
    const hits = async () => {
      const counts = [one, two].map((server) => server.metric('vllm:prefix_cache_hits_total'))
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    }
    // An odd number of prompts: taking turns sends each of them to both.
    const [prompts, times] = [7, 6]
    const found = async (salt: string, modelOf: (at: number) => string) => {
      const before = await hits()
      for (let at = 0; at < prompts * times; at += 1) {
        const prefix = `${salt}${at % prompts}: ${'judge the answer with care. '.repeat(30)}`
        const input = `${prefix}Answer: ${at}`
        await models.ask({ ...question(input, later()), prefix, model: modelOf(at) })
      }
      return (await hits()) - before
    }
    // All that there is to find. The first words are as long each time.
    const alone = await found('alone ', () => 'first')
    const inTurn = await found('turns ', (at) => (at % 2 === 0 ? 'first' : 'second'))
    const least = await found('least ', () => 'least')
    const near = await found('close ', () => 'near')
    t.comment(
      `prompt tokens found in the caches: ${alone} at one server alone, ${near} with affinity, ${inTurn} in turns, ${least} by least outstanding`,
    )
    t.ok(near > inTurn)
    t.equal(near, alone)
    // The quicker of two idle servers may get them all.
    t.ok(near >= least)
    t.ok(inTurn > 0)
  },
)

await t.test('when nobody waits any more, the server stops writing', async (t) => {
  const models = openModels({ judge: configOf([one.url], { model: 'tiny-judge' }) }, { clock: systemClock })
  t.teardown(() => models.close())
  const client = new AbortController()
  const tokens = 1500
  const before = await one.metric('vllm:generation_tokens_total')
  const request: Partial<AskRequest> = {
    reply: { regex: `[ab]{${tokens}}` },
    sampling: { max_tokens: tokens },
    signal: client.signal,
  }
  const asked = failureOf(models.ask({ ...question('Write.', later()), ...request }))
  await one.until('vllm:generation_tokens_total', (count) => count > before)
  client.abort()
  t.match(await asked, { kind: 'cancelled' })
  await one.until('vllm:num_requests_running', (count) => count === 0)
  const written = (await one.metric('vllm:generation_tokens_total')) - before
  t.comment(`${written} of ${tokens} tokens were written`)
  t.ok(written < tokens)
})

await t.test('kill -STOP of one of two servers under load costs no row and at most 30 s', async (t) => {
  const judge = { model: 'tiny-judge', instances: urls, cache: 'never', sampling: { temperature: 0 } }
  const gateway = await testGateway(t, {
    judged: {
      models: { judge },
      steps: [{ name: 'term', function: 'digit-judge', model: 'judge' }],
    },
  })
  const member = () =>
    gateway
      .models()
      .find(({ name }) => name === 'judge')
      ?.instances.find(({ address }) => address === two.url)
  const seconds = async (salt: string, under: () => Promise<void> = async () => undefined) => {
    const from = performance.now()
    const rows = Array.from({ length: 2000 }, (_, i) =>
      sampleOf(`a long answer ${'with words '.repeat(60)}${salt} ${i}`),
    )
    const [outcomes] = await Promise.all([outcomesOf(gateway, 'judged', rows), under()])
    t.equal(outcomes.filter(({ valid }) => valid).length, rows.length, `${salt}: every row is scored`)
    return (performance.now() - from) / 1000
  }
  const well = await seconds('both answer')
  const answeredBefore = await two.metric('vllm:request_success_total')
  const stopped = await seconds('one is stopped', async () => {
    await two.until('vllm:request_success_total', (count) => count > answeredBefore + 8)
    two.stop()
    t.ok((member()?.inFlight ?? 0) > 0, 'its calls are under way')
  })
  t.comment(`${well.toFixed(1)} s with both, ${stopped.toFixed(1)} s where one is stopped for ever`)
  t.ok(stopped <= well + 30)
  t.not(member()?.state, 'ready')
  two.goOn()
  const from = performance.now()
  while (member()?.state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 100))
  t.comment(`ready ${((performance.now() - from) / 1000).toFixed(1)} s after it goes on`)
})

await t.test('kill -9 of one of two servers under load loses no row', async (t) => {
  const gateway = await gatewayOf(t, {
    judged: { function: 'digit-judge', model: 'judge' },
    scored: { function: 'scalar-judge', model: 'scalar' },
  })
  const rows = Array.from({ length: 300 }, (_, i) =>
    sampleOf(`a long answer ${'with words '.repeat(60)}${i}`),
  )
  const answeredBefore = await two.metric('vllm:request_success_total')
  let done = 0
  let before = 0
  const scored = gateway.score({
    reward: 'judged',
    rows,
    signal: new AbortController().signal,
    deadlineMs: 600_000,
    onOutcome: () => {
      done += 1
    },
  })
  const killed = (async () => {
    await two.until('vllm:request_success_total', (count) => count > answeredBefore + 8)
    await two.until('vllm:num_requests_running', (count) => count > 0)
    before = done
    await two.kill()
  })()
  const { outcomes } = await scored
  await killed
  t.comment(`${before} of ${rows.length} rows were scored before the kill`)
  t.ok(before < rows.length)
  t.equal(outcomes.filter(({ valid }) => valid).length, rows.length)
  const states = gateway.models().find(({ name }) => name === 'judge')?.instances
  t.match(states, [
    { state: 'ready', inFlight: 0 },
    { state: 'ejected', inFlight: 0 },
  ])
  for (const outcome of await outcomesOf(gateway, 'scored', rows.slice(0, 8))) t.ok(outcome.valid)
})

await t.test('the presets are asked and read as their kinds of models answer', async (t) => {
  await askPresets(t, 'generate', { url: one.url, model: 'tiny-judge' })
  await askPresets(t, 'classify', { url: pooling.url, model: 'tiny-scalar' })
  await Promise.all([one, two, pooling].map((server) => server.kill()))
  // vLLM looks for the mark of Qwen's own tokenizer; the tiny one has it at another place.
  const marks = ['--pooler-config', '{"pooling_type":"STEP","step_tag_id":7}']
  for (const kind of ['steps', 'tokens'] as const) {
    const args = ['--runner', 'pooling', ...(kind === 'steps' ? marks : [])]
    const server = await startVllm(program, `tiny-${kind}`, await tinyModel(kind), args)
    await askPresets(t, kind, { url: server.url, model: `tiny-${kind}` })
    await server.kill()
  }
})

await t.test('a judge that sees images is shown those of the question', async (t) => {
  const seeing = await startVllm(program, 'tiny-vision', await tinyModel('vision'))
  await askAboutImages(t, seeing.url, 'tiny-vision')
  await seeing.kill()
})
