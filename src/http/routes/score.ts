import { Readable } from 'node:stream'
import { z } from 'zod'
import { GatewayError } from '../../errors.ts'
import type { Gateway, ScoreJob } from '../../gateway/gateway.ts'
import type { Outcome } from '../../sample/outcome.ts'
import { nativeResultText } from '../../wire/native-result-text.ts'
import { nativeSample, readNativeRows } from '../../wire/native-sample.ts'
import { odditiesOf } from '../body.ts'
import { Explanation } from '../explanation.ts'
import { whenGone } from '../gone.ts'
import type { KeyLimits } from '../key-limits.ts'
import { traceOf } from '../tracing.ts'
import { jsonSchemaOf, type ZodApp } from '../validation.ts'
import { timeWaits } from '../wait-time.ts'

/** Samples of a request that wants to be explained: its answer holds each question whole. */
const mostExplained = 64

const body = z.strictObject({
  reward: z.string().describe('Name of the reward, as its rm-config is called.'),
  samples: z
    .array(z.unknown())
    .min(1)
    .meta({ items: jsonSchemaOf(nativeSample) }),
  training_step: z
    .int()
    .min(0)
    .optional()
    .describe("The trainer's step, for weights that change over training."),
  explain: z
    .boolean()
    .default(false)
    .describe(
      `Each result gets 'asks': what each judge was sent and what it answered. At most ${mostExplained} samples.`,
    ),
  run: z.string().max(128).optional().describe('Name of the training run, for metrics and records.'),
})

const ndjson = 'application/x-ndjson'

/** POST /v1/score: one to many thousands of samples; with `Accept: application/x-ndjson` each result as it is done. */
export function scoreRoutes(app: ZodApp, gateway: Gateway, limits: KeyLimits): void {
  const schema = { tags: ['score'], summary: 'Score samples with a reward', body }
  app.post('/v1/score', { schema }, async (request, reply) => {
    const { reward, samples, training_step: trainingStep, run, explain } = request.body
    if (explain && samples.length > mostExplained)
      throw new GatewayError('RG_REQUEST_INVALID', `explain: at most ${mostExplained} samples at a time`)
    limits.takeSamples(request, reply, samples.length)
    const rows = readNativeRows(samples, odditiesOf(request))
    const explanation = explain ? new Explanation() : null
    const write = (index: number, outcome: Outcome): string => {
      const text = nativeResultText(outcome)
      return explanation
        ? `${text.slice(0, -1)},"asks":${JSON.stringify(explanation.of(rows[index]))}}`
        : text
    }
    const job: ScoreJob = {
      reward,
      rows,
      onDrawn: explanation ? (event) => explanation.add(event) : undefined,
      signal: (left) => whenGone(reply, left),
      requestId: request.id,
      trace: traceOf(request),
      isRefusable: true,
      waitTime: timeWaits(request),
      trainingStep,
      run,
    }
    if (request.headers.accept?.includes(ndjson))
      return reply.type(ndjson).send(streamed(gateway, job, write))
    const { outcomes, version } = await gateway.score(job)
    const results = outcomes.map((outcome, index) => write(index, outcome)).join(',')
    reply.type('application/json; charset=utf-8')
    return `{"results":[${results}],"reward":${JSON.stringify({ name: reward, version })}}`
  })
}

/** A line a result with its index, in the order they are done; `on_invalid: fail` ends with a line `{"error"}`. */
function streamed(
  gateway: Gateway,
  job: ScoreJob,
  write: (index: number, outcome: Outcome) => string,
): Readable {
  const lines = new Readable({ read() {} })
  const onOutcome = (index: number, outcome: Outcome) =>
    lines.push(`{"index":${index},${write(index, outcome).slice(1)}\n`)
  gateway
    .score({ ...job, onOutcome })
    .catch((error) => {
      if (!(error instanceof GatewayError)) throw error
      lines.push(`${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`)
    })
    .then(
      () => lines.push(null),
      (error) => lines.destroy(error),
    )
  return lines
}
