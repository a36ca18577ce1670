import type { AskName, Asks } from '../contract/index.ts'
import type { CallRow } from '../functions/function-host.ts'
import { fullGuard, type GuardConfig } from '../models/guard-config.ts'
import { madeOnce } from '../models/made-once.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Term } from '../sample/outcome.ts'
import type { StepContext } from './context.ts'
import { askOf } from './draw.ts'
import { echoesOf } from './guard/echoes.ts'
import { type GuardedQuestion, guardQuestion } from './guard/question.ts'
import { isRefused } from './guard/refusal.ts'
import { scored } from './step.ts'

/** What the guards of a step's models say of it: answers that say nothing are refused, echoes are marked. */
const guardsOf = madeOnce(({ guards }: PlanStep) => {
  const all = [...guards.values()]
  return { refuse: all.every(({ refuse }) => refuse), echoes: all.some(({ echoes }) => echoes) }
})

/** The low end of the range for an answer that says nothing; null where a question has to be asked. */
export function refusedTerm(context: StepContext, step: PlanStep, { sample }: CallRow): Term | null {
  const [low] = step.function.range
  if (!guardsOf(step).refuse || step.critique || !Number.isFinite(low) || !isRefused(sample)) return null
  told(context, step, ['refused'])
  return scored(context, step, { value: low, flags: ['refused'] })
}

/** What a step asks its models. */
export interface Questions {
  /** As the guard of the model renders it. Another question than the step's own: one that was cut to fit. */
  of(model: string, asked?: Asks[AskName]['input']): GuardedQuestion
  /** Flags for what the guard had to do with the questions rendered so far; tells of it. Call it once. */
  noticed(): readonly string[]
}

/** Parts of the guard that change what they find. */
const changing: readonly string[] = ['invisible', 'tokens', 'verdicts']

/** One question, rendered once for each different guard of the step's models. */
export function questionsOf(context: StepContext, step: PlanStep, asked: Asks[AskName]['input']): Questions {
  const rendered: {
    readonly guard: GuardConfig
    readonly text: unknown
    readonly question: GuardedQuestion
  }[] = []
  const render = (guard: GuardConfig, text: Asks[AskName]['input']): GuardedQuestion => {
    const input = step.soft
      ? { question: text as Asks['choose']['input']['question'], labels: step.soft }
      : text
    const question = guardQuestion(askOf(step), input, context.secret, step.identity, guard)
    rendered.push({ guard, text, question })
    return question
  }
  return {
    of(model, text = asked) {
      const guard = step.guards.get(model) ?? fullGuard
      const known = rendered.find((one) => one.guard === guard && one.text === text)
      return known?.question ?? render(guard, text)
    },
    noticed() {
      const found = rendered.map(({ question }) => question.found)
      const parts = found.length === 1 ? (found[0] ?? []) : [...new Set(found.flat())]
      if (parts.length > 0) told(context, step, parts)
      const flags: string[] = []
      if (rendered.some(({ question }) => question.unguarded)) flags.push('unguarded')
      if (parts.some((part) => changing.includes(part))) flags.push('neutralised')
      return flags
    },
  }
}

/** Flags for an answer that repeats its prompt or its reference; tells of it. */
export function echoFlags(context: StepContext, step: PlanStep, { sample }: CallRow): readonly string[] {
  const echoes = guardsOf(step).echoes ? echoesOf(sample) : []
  if (echoes.length > 0) told(context, step, echoes)
  return echoes
}

function told({ events, job }: StepContext, { name }: PlanStep, parts: readonly string[]): void {
  events?.guarded?.({ reward: job.plan.name, step: name, parts })
}
