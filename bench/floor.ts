/** What the rule costs with next to nothing around it: Fastify, one worker thread, the rule, results of the same shape. */
import { Worker } from 'node:worker_threads'
import Fastify from 'fastify'

interface Body {
  readonly reward: string
  readonly samples: readonly {
    readonly id: string
    readonly response: string
    readonly ground_truth: string
  }[]
}

interface Verdict {
  readonly value: number
  readonly details: Readonly<Record<string, string>>
}

const [port = '8496'] = process.argv.slice(2)
const rule = new URL('../dist/reward-functions/gsm8k-progressive.js', import.meta.url).href
const worker = new Worker(
  `const { parentPort } = require('node:worker_threads')
  const options = { mode: 'published', variant: 'graded' }
  import('${rule}').then(({ default: { score } }) => {
    parentPort.on('message', ([responses, truths]) => {
      parentPort.postMessage(
        JSON.stringify(responses.map((response, at) => score({ sample: { response }, truth: truths[at], options }))),
      )
    })
  })`,
  { eval: true },
)
const waiting: ((verdicts: readonly Verdict[]) => void)[] = []
worker.on('message', (verdicts: string) => waiting.shift()?.(JSON.parse(verdicts)))

const app = Fastify({ bodyLimit: 1 << 24 })
app.post<{ Body: Body }>('/v1/score', async ({ body: { reward, samples } }) => {
  const verdicts = await new Promise<readonly Verdict[]>((resolve) => {
    waiting.push(resolve)
    worker.postMessage([samples.map((one) => one.response), samples.map((one) => one.ground_truth)])
  })
  const results = verdicts.map(({ value, details }, at) => ({
    id: samples[at]?.id,
    reward: value,
    valid: true,
    failure: null,
    substitute: null,
    terms: {
      rule: {
        status: 'scored',
        score: value,
        weight: 1,
        contribution: value,
        parts: {},
        details,
        flags: [],
        draws: 1,
        spread: 0,
        why: null,
        failure: null,
      },
    },
    metrics: { rule: value, rule_scored: 1 },
    flags: [],
  }))
  return { results, reward: { name: reward, version: '1' } }
})
app.get('/livez', async () => 'ok')
await app.listen({ port: Number(port), host: '127.0.0.1' })
