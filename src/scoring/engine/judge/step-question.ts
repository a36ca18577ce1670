/** A step's question as each of its models gets it, and answers that no judge needs to see. */

import type { AskName, Asks } from '../../../contract/index.ts'
import { isDecision } from '../../../contract/question.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Score, Term } from '../../../core/sample/sample.ts'
import { workInSlices } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import { fullGuard, type GuardConfig } from '../../models/interface/model-config.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { echoesOf, refusal } from '../guard/answers.ts'
import {
  type GuardedQuestion,
  guardQuestion,
  type ReadyValue,
  readyValue,
} from '../guard/guarded-question.ts'
import { withOwnTexts } from '../guard/own-texts.ts'
import { scoredTerm } from '../step.ts'
import { answersInParts } from '../unseen.ts'
import { overflows, valuesOf } from './prompt-budget.ts'

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
