/** A step's question as each of its models gets it, what the function's own rm_postprocess reads in an answer, and rows that no judge needs to see. */
import type { AskName, Asks, Generation, Reply } from '../../../contract/index.ts'
import { isDecision } from '../../../contract/question.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Failure, Score, Term } from '../../../core/sample/sample.ts'
import { type MaybePromise, workInSlices } from '../../../core/slices.ts'
import type { CallResult, CallRow } from '../../functions/function-host.ts'
import type { Answered } from '../../models/interface/ask.ts'
import { fullGuard, type GuardConfig } from '../../models/interface/model-config.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import {
  type GuardedQuestion,
  guardQuestion,
  type ReadyValue,
  readyValue,
} from '../guard/guarded-question.ts'
import { echoesOf, refusal, withOwnTexts, withoutThoughts } from '../guard/row-texts.ts'
import { called, scoredTerm } from '../step.ts'
import { answersInParts } from '../unseen-content.ts'
import { overflows, valuesOf } from './prompt-budget.ts'
import { expectedScore, type Read, type Said } from './votes.ts'

/** The guards of a step's models: whether they refuse answers without content and flag echoes. */
const guardsOf = memoizeByObject(({ guards }: PlanStep) => {
  const all = [...guards.values()]
  return { refuse: all.every(({ refuse }) => refuse), echoes: all.some(({ echoes }) => echoes) }
})

/** The low end of the range for an answer without content; null if a judge has to be asked. */
export function refusedTerm(context: StepContext, step: PlanStep, { sample }: CallRow): Term | null {
  const [low] = step.function.range
  if (!guardsOf(step).refuse || step.critique || !Number.isFinite(low)) return null
  const flags = refusal(sample, step.function.thinking)
  if (flags === null || answersInParts(sample)) return null
  emitGuarded(context, step, ['refused'])
  return scoredTerm(context, step, { value: low, flags })
}

/** A step's question, as each of its models gets it. */
export interface Questions {
  /** Prepares long values of the step's own question for a model, in slices; null: nothing to wait for. */
  ready(model: string): Promise<void> | null
  /** Characters of the step's own question if it may be long, else 0. */
  readonly chars: number
  /** The question as the model's guard renders it. `asked`: a question that was cut to fit. */
  of(model: string, asked?: Asks[AskName]['input']): GuardedQuestion
  /** Flags for what the guard changed in the questions rendered so far; emits `guarded`. Call it once. */
  noticed(): readonly string[]
}

/** Parts of the guard that change the text. */
const changing: readonly string[] = ['invisible', 'tokens', 'verdicts']

/** Renders a question once for each different guard of the step's models. */
export function questionsOf(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  asked: Asks[AskName]['input'],
): Questions {
  const rendered: {
    readonly guard: GuardConfig
    readonly text: unknown
    readonly question: GuardedQuestion
  }[] = []
  const values: {
    readonly guard: GuardConfig
    readonly ready: ReadyValue[]
    readonly rest: Promise<void> | null
  }[] = []
  const ask = askOf(step)
  const render = (guard: GuardConfig, text: Asks[AskName]['input']): GuardedQuestion => {
    const input = step.labels
      ? { question: text as Asks['choose']['input']['question'], labels: step.labels }
      : text
    const ready = values.find((one) => one.guard === guard)?.ready
    const question = guardQuestion(ask, input, context.secret, step.identity, guard, rows, ready)
    rendered.push({ guard, text, question })
    return question
  }
  const guardOf = (model: string): GuardConfig => step.guards.get(model) ?? fullGuard
  return {
    chars: hasLong(asked) ? valuesOf(asked).reduce((sum, { length }) => sum + length, 0) : 0,
    ready(model) {
      if (!hasLong(asked)) return null
      const guard = guardOf(model)
      const known = values.find((one) => one.guard === guard)
      if (known) return known.rest
      const own = valuesOf(withOwnTexts(asked, rows)).filter(isLong)
      const ready: ReadyValue[] = []
      const rest = workInSlices(makeReady(own, ready, ask, context.secret, guard)) ?? null
      values.push({ guard, ready, rest })
      return rest
    },
    of(model, text = asked) {
      const guard = guardOf(model)
      const known = rendered.find((one) => one.guard === guard && one.text === text)
      return known?.question ?? render(guard, text)
    },
    noticed() {
      const found = rendered.map(({ question }) => question.found)
      const parts = found.length === 1 ? (found[0] ?? []) : [...new Set(found.flat())]
      if (parts.length > 0) emitGuarded(context, step, parts)
      const flags: string[] = []
      if (rendered.some(({ question }) => question.unguarded)) flags.push('unguarded')
      if (parts.some((part) => changing.includes(part))) flags.push('neutralised')
      if (parts.includes('empty')) flags.push('empty_value')
      return flags
    },
  }
}

/** In characters. A shorter value takes a fraction of a millisecond, whatever it holds. */
const longValue = 4096

const isLong = ({ length }: string): boolean => length > longValue

/** Whether a question may have a long value. Most have none, and pay nothing for it. */
function hasLong(asked: Asks[AskName]['input']): boolean {
  if (typeof asked === 'string') return false
  if (isDecision(asked)) return asked.about.values.some(isLong)
  return !('kind' in asked && asked.kind === 'prompt') || asked.values.some(isLong)
}

function* makeReady(
  values: readonly string[],
  ready: ReadyValue[],
  ask: AskName,
  secret: string,
  guard: GuardConfig,
): Generator<void, void> {
  for (const value of values) ready.push(yield* readyValue(value, ask, secret, guard))
}

/** Flags for an answer that repeats its prompt or its reference; emits `guarded`. */
export function echoFlags(context: StepContext, step: PlanStep, { sample }: CallRow): readonly string[] {
  const echoes = guardsOf(step).echoes ? echoesOf(sample) : []
  if (echoes.length > 0) emitGuarded(context, step, echoes)
  return echoes
}

function emitGuarded({ events, job }: StepContext, { name }: PlanStep, parts: readonly string[]): void {
  events?.guarded?.({ reward: job.plan.name, step: name, parts })
}

/** The term of a group's answer that no judge sees, since it has no content or is too long; null: judges see it. */
export async function refusedAmong(context: StepContext, step: PlanStep, row: CallRow): Promise<Term | null> {
  const refused = refusedTerm(context, step, row)
  const hasLow = Number.isFinite(step.function.range[0])
  if (refused || !hasLow || !(await overflows(context, step, row))) return refused
  return scoredTerm(context, step, refusedScore(step))
}

/** The score of an answer that no judge sees. */
export const refusedScore = ({ function: { range } }: PlanStep): Score => ({
  value: range[0],
  flags: ['refused'],
})

/** The task of a step's models: with `verdict: expected`, the probabilities of the replies. */
export const askOf = ({ ask, labels }: Pick<PlanStep, 'ask' | 'labels'>): AskName =>
  labels ? 'choose' : (ask ?? 'generate')

/** One of the several questions of a step. */
export interface StepPart {
  /** Its place among them. */
  readonly at: number
  /** How many scores its answer gives. */
  readonly scores: number
  readonly reply: Reply | undefined
  /** What names the beginning that it shares with the others: servers keep it. */
  readonly shared: string
  /** The number of values in that beginning. The response stands there, and nothing of it in what follows. */
  readonly values: number
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
