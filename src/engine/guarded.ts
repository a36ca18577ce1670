import type { AskName, Asks } from '../contract/index.ts'
import type { CallRow } from '../functions/function-host.ts'
import { fullGuard, type GuardConfig } from '../models/guard-config.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Term } from '../sample/outcome.ts'
import { echoesOf } from './guard/echoes.ts'
import { type GuardedQuestion, guardQuestion } from './guard/question.ts'
import { isRefused } from './guard/refusal.ts'
import { type StepContext, scored } from './step.ts'

/** The low end of the range for an answer that says nothing; null where a question has to be asked. */
export function refusedTerm(context: StepContext, step: PlanStep, { sample }: CallRow): Term | null {
  const [low] = step.function.range
  const isOn = [...step.guards.values()].every(({ refuse }) => refuse)
  if (!isOn || step.critique || !Number.isFinite(low) || !isRefused(sample)) return null
  context.events?.guarded?.({ reward: context.job.plan.name, step: step.name, parts: ['refused'] })
  return scored(context, step, { value: low, flags: ['refused'] })
}

/** What a step asks its models about one sample. */
export interface Questions {
  /** As the guard of the model renders it. */
  of(model: string): GuardedQuestion
  /** What was noticed about the sample and its question. */
  readonly flags: readonly string[]
}

/** One question, rendered once for each different guard of the step's models. */
export function questionsOf(
  context: StepContext,
  step: PlanStep,
  { sample }: CallRow,
  asked: Asks[AskName]['input'],
): Questions {
  const rendered = new Map<GuardConfig, GuardedQuestion>()
  const of = (model: string): GuardedQuestion => {
    const guard = step.guards.get(model) ?? fullGuard
    const known = rendered.get(guard)
    if (known) return known
    const question = guardQuestion(step.ask ?? 'generate', asked, context.secret, step.identity, guard)
    rendered.set(guard, question)
    return question
  }
  for (const model of step.models) of(model)
  const guards = [...rendered.keys()]
  const echoes = guards.some((guard) => guard.echoes) ? echoesOf(sample) : []
  const questions = [...rendered.values()]
  const parts = new Set([...questions.flatMap(({ found }) => found), ...echoes])
  if (parts.size > 0)
    context.events?.guarded?.({ reward: context.job.plan.name, step: step.name, parts: [...parts] })
  const isChanged = ['invisible', 'tokens', 'verdicts'].some((part) => parts.has(part))
  const isUnguarded = questions.some(({ unguarded }) => unguarded)
  const flags = [...(isUnguarded ? ['unguarded'] : []), ...(isChanged ? ['neutralised'] : []), ...echoes]
  return { of, flags }
}
