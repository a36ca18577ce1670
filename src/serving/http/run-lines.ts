/** Reads the lines of a batch of rollouts and submits each. One bad line does not cost the others. */
import { z } from 'zod'
import { GatewayError } from '../../core/errors.ts'
import { noJsonLimits } from '../../core/json/limits.ts'
import { JsonLimitError, parseJsonBytes } from '../../core/json/text.ts'
import { turnFor, turnForOne } from '../../core/slices.ts'
import { fieldProblem, innermost } from '../../trainers/issues.ts'
import { rolloutBody, submissionOf, uidPattern } from '../queue/envelope.ts'
import type { RolloutQueue } from '../queue/queue.ts'
import type { Sender } from '../queue/room.ts'
import type { Pending } from '../queue/run-state.ts'
import type { Submission } from '../queue/run-store.ts'

const namedLine = z.object({ uid: z.string().regex(uidPattern, 'up to 200 visible ASCII characters') })
const lineBody = rolloutBody.extend(namedLine.shape)

interface Line {
  /** From 1. */
  readonly number: number
  readonly bytes: Buffer
}

interface LineParts {
  readonly maxValues: number
  readonly stateOf: (state: string, pending: Pending | null) => string
  /** Whose key sends the lines. */
  readonly sender: Sender | undefined
}

interface SubmittedLines {
  /** What became of each line, in order. */
  readonly results: readonly object[]
  /** Set if no line was accepted: an error that may pass, if any line has one. */
  readonly refusal: GatewayError | undefined
  /** Set if some lines found no room. */
  readonly retryAfterS: number | undefined
}

/** Submits each line. */
export async function submitLines(
  queue: RolloutQueue,
  run: string,
  lines: readonly Line[],
  { maxValues, stateOf, sender }: LineParts,
): Promise<SubmittedLines> {
  const errors: GatewayError[] = []
  const refused = (line: Line, uid: string | null, error: GatewayError): object => {
    errors.push(error)
    const { code, message, statusCode: status } = error
    return { line: line.number, uid, error: { code, message, status } }
  }
  const submitted: Promise<object>[] = []
  for (const line of lines) {
    const turn = turnFor(line.bytes.length) ?? turnForOne()
    if (turn !== null) await turn
    const read = await submissionIn(line.bytes, maxValues, {
      seconds: queue.settings.deadline_s,
      now: queue.now(),
    })
    if ('error' in read) submitted.push(Promise.resolve(refused(line, read.uid, read.error)))
    else
      submitted.push(
        queue.submit(run, read, sender).then(
          ({ attempt, state, pending }) => ({ uid: read.uid, attempt, state: stateOf(state, pending) }),
          (error) => {
            if (!(error instanceof GatewayError)) throw error
            return refused(line, read.uid, error)
          },
        ),
      )
  }
  const results = await Promise.all(submitted)
  const passing = errors.find(({ statusCode }) => statusCode === 429 || statusCode === 503)
  const refusal = errors.length === lines.length ? (passing ?? errors[0]) : undefined
  return { results, refusal, retryAfterS: passing?.retryAfterS }
}

/** A line that is no rollout. `uid`: null if it cannot be read. */
interface Unread {
  readonly uid: string | null
  readonly error: GatewayError
}

async function submissionIn(
  bytes: Buffer,
  maxValues: number,
  times: Parameters<typeof submissionOf>[3],
): Promise<Submission | Unread> {
  const invalid = (message: string, uid: string | null = null): Unread => ({
    uid,
    error: new GatewayError('RG_REQUEST_INVALID', message),
  })
  let value: unknown
  try {
    value = (await parseJsonBytes(bytes, { ...noJsonLimits, maxValues })).value
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return invalid(`the line ${error instanceof JsonLimitError ? error.message : 'is not valid JSON'}`)
  }
  const parsed = lineBody.safeParse(value)
  if (parsed.success) {
    const { uid, ...rollout } = parsed.data
    return submissionOf(uid, rollout, bytes, times)
  }
  const named = namedLine.safeParse(value)
  const uid = named.success ? named.data.uid : null
  const [issue] = parsed.error.issues.flatMap(innermost)
  if (!issue) return invalid('the line is not a rollout', uid)
  const { path, message } = fieldProblem(issue, value, Object.keys(lineBody.shape))
  return invalid(`${path || 'the line'}: ${message}`, uid)
}
