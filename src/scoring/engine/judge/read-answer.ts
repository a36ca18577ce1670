/** What a model's answer says, by the function's own rm_postprocess. */

import type { Generation, Reply } from '../../../contract/index.ts'
import type { Failure } from '../../../core/sample/sample.ts'
import type { MaybePromise } from '../../../core/slices.ts'
import type { CallResult, CallRow } from '../../functions/function-host.ts'
import type { Answered } from '../../models/interface/ask.ts'
import { fullGuard } from '../../models/interface/model-config.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { withoutThoughts } from '../guard/answers.ts'
import type { GuardedQuestion } from '../guard/guarded-question.ts'
import { called } from '../step.ts'
import { expectedScore, type Read, type Said } from './votes.ts'

/** One of the several questions of a step. */
export interface StepPart {
  /** Its place among them. */
  readonly at: number
  /** How many scores its answer gives. */
  readonly scores: number
  readonly reply: Reply | undefined
  /** What names the beginning that it shares with the others: servers keep it. */
  readonly shared: string
}

/** Reads an answer: length limits and thoughts first, then rm_postprocess. Never rejects. */
export function readAnswer(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  { steps }: GuardedQuestion,
  model: string,
  { answer }: Answered,
  part: StepPart | null,
): MaybePromise<Said> {
  if (steps !== null && Array.isArray(answer) && answer.length !== steps)
    return otherSteps(answer.length, steps)
  if (step.critique) return critiqueOf(answer as Generation)
  if (step.labels) return expected(context, step, rows, answer as Probabilities)
  if (step.ask === 'generate' && (answer as Generation).finishReason === 'length') return cutOff
  const cuts = step.ask === 'generate' && (step.guards.get(model) ?? fullGuard).thoughts
  const said = cuts ? withoutThoughts(answer as Generation) : answer
  if (said !== null) return read(context, step, rows, said, part)
  const count = part?.scores ?? verdictCount(step, rows)
  return { status: 'read', verdicts: Array<null>(count).fill(null), unreadable: unfinished }
}

/** A truncated critique is used; one without text is a failure. */
function critiqueOf({
  text,
  finishReason,
}: Generation): Read | { readonly status: 'text'; readonly text: string } {
  if (text.trim() !== '') return { status: 'text', text }
  return finishReason === 'length' ? cutOff : { status: 'failed', failure: saidNothing }
}

type Probabilities = Readonly<Record<string, number>>

/** What rm_postprocess reads in an answer. */
function read(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  answer: Answered['answer'],
  part: StepPart | null = null,
): MaybePromise<Read> {
  const call = { op: 'postprocess', function: step.function, rows, answer } as const
  const result = called(context, part ? { ...call, at: part.at } : call)
  const readAll = (result: CallResult): Read => (part ? scoresIn(result, part.scores) : readIn(result))
  return result instanceof Promise ? result.then(readAll) : readAll(result)
}

/** The scores of one of several questions. */
function scoresIn(result: CallResult, count: number): Read {
  const said = readIn(result)
  if (said.status !== 'read' || said.verdicts.length === count) return said
  if (said.verdicts.length === 0) return { status: 'read', verdicts: Array<null>(count).fill(null) }
  const detail = `rm_postprocess gave ${said.verdicts.length} scores for a question that promises ${count}`
  return { status: 'failed', failure: { kind: 'function_error', retryable: false, detail } }
}

function readIn(result: CallResult): Read {
  if (result.status === 'verdicts') return { status: 'read', verdicts: result.verdicts }
  return { status: 'failed', failure: result.status === 'failed' ? result.failure : noVerdicts }
}

/** Reads every reply that the function allows, and weights its verdict by its probability. */
async function expected(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  probabilities: Probabilities,
): Promise<Read> {
  const labels = step.labels ?? []
  const reads = await Promise.all(
    labels.map((text) => read(context, step, rows, { text, finishReason: 'stop' })),
  )
  const failure = reads.find((one) => one.status === 'failed')
  if (failure) return failure
  const verdicts = Array.from({ length: verdictCount(step, rows) }, (_, column) =>
    expectedScore(
      reads.map((one, index) => ({
        label: labels[index] ?? '',
        score: one.status === 'read' ? (one.verdicts[column] ?? null) : null,
        probability: probabilities[labels[index] ?? ''] ?? 0,
      })),
    ),
  )
  return { status: 'read', verdicts }
}

/** A pair has one verdict: the probability that the first answer is better. */
const verdictCount = ({ kind }: PlanStep, rows: readonly CallRow[]): number =>
  kind === 'list' ? rows.length : 1

const cutOff: Read = {
  status: 'failed',
  failure: {
    kind: 'judge_truncated',
    retryable: false,
    detail: 'the judge ran into its token limit; raise max_tokens',
  },
}

const otherSteps = (found: number, asked: number): Read => ({
  status: 'failed',
  failure: {
    kind: 'judge_unparseable',
    retryable: false,
    detail: `the model gave ${found} numbers for ${asked} steps: is the mark of steps(texts, mark) the model's own?`,
  },
})

const unfinished: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: "the answer ends inside the judge's reasoning",
}

const saidNothing: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: 'the judge gave an empty answer',
}

const noVerdicts: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'rm_postprocess gave no verdict',
}
