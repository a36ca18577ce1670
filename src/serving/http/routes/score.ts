import type { Readable } from 'node:stream'
import { z } from 'zod'
import { GatewayError } from '../../../core/errors.ts'
import type { Outcome, Sample, Unreadable } from '../../../core/sample/sample.ts'
import type { Gateway, GatewayJob, VoteEvent } from '../../../scoring/gateway/gateway.ts'
import { nativeSample, readNativeRows } from '../../../trainers/native.ts'
import { nativeResultText } from '../../../trainers/native-result.ts'
import { shownAsk } from '../../telemetry/live/shown-row.ts'
import { JudgeAnswers } from '../../telemetry/record/judge-answers.ts'
import { textKeeper } from '../../telemetry/record/text-policy.ts'
import type { KeyLimits } from '../auth.ts'
import { bodyBytesOf, nonJsonLiteralsOf } from '../body.ts'
import { LineStream, replyBody } from '../reply-body.ts'
import { onDisconnect, startWaitTime, traceOf } from '../request-context.ts'
import { jsonSchemaOf, type ZodApp } from '../validation.ts'

/** Samples of a request with `explain`: its reply contains every question in full. */
const maxExplained = 64

const body = z.strictObject({
  reward: z.string().describe('Name of the reward: the name of its rm-config.'),
  samples: z
    .array(z.unknown())
    .min(1)
    .meta({ items: jsonSchemaOf(nativeSample) }),
  images: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'Images that parts refer to as `sha256:HASH`: data URLs by the SHA-256 of their bytes, in hex. Sixteen answers to one image then carry it once.',
    ),
  training_step: z
    .int()
    .min(0)
    .optional()
    .describe("The trainer's current step, for weights that change during training."),
  explain: z
    .boolean()
    .default(false)
    .describe(
      `Adds 'asks' to each result: what each judge was sent and what it answered. At most ${maxExplained} samples. If they do not fit into memory, the result has 'asks_left_out' instead.`,
    ),
  run: z.string().max(128).optional().describe('Name of the training run, for metrics and records.'),
})

const ndjson = 'application/x-ndjson'

/** POST /v1/score: scores one to many thousands of samples. With `Accept: application/x-ndjson` it streams each result as it is done. */
export function scoreRoutes(app: ZodApp, gateway: Gateway, limits: KeyLimits): void {
  const schema = { tags: ['score'], summary: 'Score samples with a reward', body }
  app.post('/v1/score', { schema, config: { rows: ['samples'] } }, async (request, reply) => {
    const { reward, samples, images, training_step: trainingStep, run, explain } = request.body
    if (explain && samples.length > maxExplained)
      throw new GatewayError('RG_REQUEST_INVALID', `explain: at most ${maxExplained} samples per request`)
    limits.takeSamples(request, reply, samples.length)
    const reading = readNativeRows(samples, nonJsonLiteralsOf(request), images)
    const rows = reading instanceof Promise ? await reading : reading
    const explanation = explain ? new Explanation() : null
    const job: GatewayJob = {
      reward,
      rows,
      onVote: explanation ? (event) => explanation.add(event) : undefined,
      signal: (left) => onDisconnect(reply, left),
      requestId: request.id,
      trace: traceOf(request),
      isRefusable: true,
      bodyBytes: bodyBytesOf(request),
      waitTime: startWaitTime(request),
      arrived: request.arrived,
      trainingStep,
      run,
    }
    if (request.headers.accept?.includes(ndjson))
      return reply.type(ndjson).send(streamed(gateway, job, explanation))
    const { outcomes, version } = await gateway.score(job)
    reply.type('application/json; charset=utf-8')
    const served = { name: reward, version }
    if (outcomes.length === 1 && !explanation)
      return `${begin}${nativeResultText(outcomes[0] as Outcome)}${endOf(served)}`
    return replyBody(replyPieces(rows, outcomes, served, explanation))
  })
}

const begin = '{"results":['
const endOf = (reward: object): string => `],"reward":${JSON.stringify(reward)}}`

function* replyPieces(
  rows: GatewayJob['rows'],
  outcomes: readonly Outcome[],
  reward: { readonly name: string; readonly version: string },
  explanation: Explanation | null,
): Generator<string> {
  let before = begin
  for (const [index, outcome] of outcomes.entries()) {
    if (explanation) {
      yield before
      yield* resultPieces(outcome, rows[index], explanation)
    } else yield before + nativeResultText(outcome)
    before = ','
  }
  yield endOf(reward)
}

function* resultPieces(
  outcome: Outcome,
  row: GatewayJob['rows'][number] | undefined,
  explanation: Explanation | null,
): Generator<string> {
  const text = nativeResultText(outcome)
  if (!explanation) return yield text
  yield `${text.slice(0, -1)},"asks":`
  yield* explanation.textOf(row)
  yield explanation.isWhole(row) ? '}' : ',"asks_left_out":true}'
}

/** One line per result with its index, in order of completion. With `on_invalid: fail` the last line is `{"error"}`. */
function streamed(gateway: Gateway, job: GatewayJob, explanation: Explanation | null): Readable {
  const lines = new LineStream()
  const onOutcome = (index: number, outcome: Outcome) => lines.add(linePieces(index, outcome))
  function* linePieces(index: number, outcome: Outcome): Generator<string> {
    let begin = `{"index":${index},`
    for (const piece of resultPieces(outcome, job.rows[index], explanation)) {
      // The opening brace was written with the index.
      yield begin === '' ? piece : begin + piece.slice(1)
      begin = ''
    }
    yield '\n'
  }
  gateway
    .score({ ...job, onOutcome })
    .catch((error) => {
      // Clients send again after a broken stream, and not after a line of an error.
      if (!(error instanceof GatewayError) || error.code === 'RG_CLOSING') throw error
      lines.add([`${JSON.stringify({ error: { code: error.code, message: error.message } })}\n`])
    })
    .then(
      () => lines.end(),
      (error) => lines.body.destroy(error),
    )
  return lines.body
}

/** Bytes of questions and answers kept for one request. */
const maxBytes = 256 * 1024 * 1024

/** The judge questions and answers of one request, in full: the sender of the samples may read them. */
class Explanation {
  readonly #answers = new JudgeAnswers(maxBytes)

  add(event: VoteEvent): void {
    this.#answers.add(event)
  }

  /** The JSON of one row's questions by step, in pieces. */
  *textOf(row: Sample | Unreadable | undefined): Generator<string> {
    const own = row && !('failure' in row) ? this.#answers.of(row) : []
    const keep = textKeeper('full')
    const bySteps = new Map<string, VoteEvent[]>()
    for (const vote of own) {
      const known = bySteps.get(vote.step)
      if (known) known.push(vote)
      else bySteps.set(vote.step, [vote])
    }
    let before = '{'
    for (const [step, answers] of bySteps) {
      yield `${before}${JSON.stringify(step)}:`
      for (const [at, vote] of answers.entries())
        yield `${at === 0 ? '[' : ','}${JSON.stringify(shownAsk(vote, keep))}`
      yield ']'
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }

  /** False if some questions of the row did not fit. */
  isWhole(row: Sample | Unreadable | undefined): boolean {
    return !row || 'failure' in row || this.#answers.isWhole(row)
  }
}
