/** Reads the lines of a batch of rollouts and submits each. One bad line does not cost the others. */
import { z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import { noJsonLimits } from '../../core/json/limits.ts'
import { JsonLimitError, parseJsonBytes } from '../../core/json/text.ts'
import { turnFor, turnForOne } from '../../core/slices.ts'
import { fieldProblem, innermost } from '../../trainers/issues.ts'
import { rolloutBody, submissionOf, uidPattern } from '../queue/envelope.ts'
import type { RolloutQueue } from '../queue/queue.ts'
import type { Pending } from '../queue/run-state.ts'
import type { Submission } from '../queue/run-store.ts'

const lineBody = rolloutBody.extend({
  uid: z.string().regex(uidPattern, 'up to 200 visible ASCII characters'),
})

interface Line {
  /** From 1. */
  readonly number: number
  readonly bytes: Buffer
}

interface LineParts {
  readonly maxValues: number
  readonly stateOf: (state: string, pending: Pending | null) => string
}

/** What became of each line, in order. `retryAfterS`: some lines found no room. Rejects with the first error if no line was accepted. */
export async function submitLines(
  queue: RolloutQueue,
  run: string,
  lines: readonly Line[],
  { maxValues, stateOf }: LineParts,
): Promise<{ readonly results: readonly object[]; readonly retryAfterS: number | undefined }> {
  const errors: GatewayError[] = []
  const refused = (line: Line, uid: string | null, error: GatewayError): object => {
    errors.push(error)
    const { code, message } = error
    return { line: line.number, uid, error: { code, message } }
  }
  const submitted: Promise<object>[] = []
  for (const line of lines) {
    const turn = turnFor(line.bytes.length) ?? turnForOne()
    if (turn !== null) await turn
    const read = await submissionIn(line.bytes, maxValues, queue.settings.deadline_s)
    if (read instanceof GatewayError) submitted.push(Promise.resolve(refused(line, null, read)))
    else
      submitted.push(
        queue.submit(run, read).then(
          ({ attempt, state, pending }) => ({ uid: read.uid, attempt, state: stateOf(state, pending) }),
          (error) => {
            if (!(error instanceof GatewayError)) throw error
            return refused(line, read.uid, error)
          },
        ),
      )
  }
  const results = await Promise.all(submitted)
  const [first] = errors
  if (first && errors.length === lines.length) throw first
  return { results, retryAfterS: errors.find(({ retryAfterS }) => retryAfterS !== undefined)?.retryAfterS }
}

async function submissionIn(
  bytes: Buffer,
  maxValues: number,
  seconds: number,
): Promise<Submission | GatewayError> {
  let value: unknown
  try {
    value = (await parseJsonBytes(bytes, { ...noJsonLimits, maxValues })).value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const why = error instanceof JsonLimitError ? error.message : 'is not valid JSON'
    return new GatewayError('RG_REQUEST_INVALID', `the line ${why}`)
  }
  const parsed = lineBody.safeParse(value)
  if (parsed.success) {
    const { uid, ...rollout } = parsed.data
    return submissionOf(uid, rollout, bytes, { seconds, now: Date.now() })
  }
  const [issue] = parsed.error.issues.flatMap(innermost)
  if (!issue) return new GatewayError('RG_REQUEST_INVALID', 'the line is not a rollout')
  const { path, message } = fieldProblem(issue, value, Object.keys(lineBody.shape))
  return new GatewayError('RG_REQUEST_INVALID', `${path || 'the line'}: ${message}`)
}
