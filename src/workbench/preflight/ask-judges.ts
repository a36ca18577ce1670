import type { Clock } from '../../core/clock.ts'
import type { FailureKind, Sample } from '../../core/sample/sample.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { type Probed, probe } from '../../scoring/canary/canary.ts'
import { shippedProbes } from '../../scoring/canary/probes.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import { addressOf } from '../../scoring/models/interface/address.ts'
import type { ModelConfig } from '../../scoring/models/interface/model-config.ts'
import { openModels } from '../../scoring/models/models.ts'
import { askedModels, type Plan, type PlanStep } from '../../scoring/plan/plan.ts'
import type { Resolved } from '../../scoring/plan/resolve.ts'
import { Sandboxes } from '../../scoring/sandboxes/sandboxes.ts'
import type { Connection } from './connect.ts'
import { secret } from './opened-reward.ts'

/** What came of one question to one judge. */
interface AskedJudge {
  readonly model: string
  readonly address: string
  /** The reward and the step whose question it was. */
  readonly plan: string
  readonly step: string
  readonly said: Probed
  readonly ms: number
}

/** A model that is not asked a step's question, or any, and why. */
interface UnaskedJudge {
  readonly model: string
  readonly why: string
}

/** The rows to ask about. */
export interface GivenRows {
  readonly samples: readonly [Sample, ...Sample[]]
  /** True if they are an example that every command knows; a function's own known answers then come first. */
  readonly isPlain: boolean
}

interface Question {
  readonly plan: Plan
  readonly step: PlanStep
  readonly samples: readonly Sample[]
  readonly model: string
}

/** Whether a failure is one of the judge, and not of the row that it was asked about. */
const isOfJudge = (kind: FailureKind): boolean =>
  kind.startsWith('judge_') || ['overloaded', 'deadline', 'cancelled'].includes(kind)

/** The row has no question for the step: no judge was asked. */
export const isUnasked = (said: Probed): boolean =>
  said.status === 'no_call' || (said.status === 'failed' && !isOfJudge(said.failure.kind))

/**
 * Asks each instance that responds one question for each different step that asks its model, as the step itself would: about the
 * first row of `given` that has one, or else about a known right answer. Models that share a GPU or sleep are left alone, because a
 * question would wake them.
 */
export async function askJudges(
  { plans, models: configs, gateway }: Resolved,
  functions: FunctionHost,
  found: readonly Connection[],
  given: GivenRows,
  env: Readonly<Record<string, string | undefined>>,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly asked: readonly AskedJudge[]; readonly unasked: readonly UnaskedJudge[] }> {
  const questions = questionsOf(plans.values(), given)
  const asleep = new Set([...configs].filter(([, config]) => maySleep(config)).map(([name]) => name))
  const awake = (address: string) => !found.some((one) => asleep.has(one.model) && one.address === address)
  const places = found.flatMap(({ model, address, trouble }) =>
    trouble === null && awake(address)
      ? questions.filter((question) => question.model === model).map((question) => ({ ...question, address }))
      : [],
  )
  const models = openModels(Object.fromEntries([...configs].filter(([name]) => !asleep.has(name))), {
    clock,
    env,
  })
  const sandboxes = new Sandboxes(gateway.sandboxes, { clock, env, events: {} })
  try {
    const parts = { functions, models, sandboxes, clock, secret }
    const asked = await Promise.all(
      places.map(async ({ plan, step, samples, model, address }): Promise<AskedJudge> => {
        const began = clock.now()
        const deadline = began + 1000 * (configs.get(model)?.timeout_s ?? 0)
        const aim = { plan, step, model, instance: addressOf(address), deadline, signal }
        let said: Probed = { status: 'no_call' }
        for (const sample of samples) {
          said = await probe(parts, sample, aim)
          if (!isUnasked(said)) break
        }
        const ms = Math.round(clock.now() - began)
        return { model, address: hideSecrets(address), plan: plan.name, step: step.name, said, ms }
      }),
    )
    const why = 'not asked, because a question would wake it'
    const sleeping = [...asleep]
      .filter((name) => questions.some(({ model }) => model === name))
      .map((model) => ({ model, why }))
    return { asked, unasked: [...sleeping, ...laterQuestions(plans.values())] }
  } finally {
    sandboxes.close()
    await models.close()
  }
}

const maySleep = ({ gpu_group, lifecycle }: ModelConfig): boolean =>
  gpu_group !== undefined || lifecycle !== undefined

/** A step that reads earlier steps cannot be asked without them, and one that compares answers not about a single one. */
const needsMore = (step: PlanStep): boolean =>
  (step.kind !== 'model' && step.kind !== 'questions') || step.critique || step.after.length > 0

/** The questions that only a whole run of their reward asks. */
const laterQuestions = (plans: Iterable<Plan>): UnaskedJudge[] =>
  [...plans].flatMap(({ name, steps }) =>
    steps.filter(needsMore).flatMap((step) =>
      askedModels(step).map((model) => ({
        model,
        why: `not asked the question of ${name}, step ${step.name}, which needs other steps or several answers: 'reward-gateway score' asks it`,
      })),
    ),
  )

/** Steps that ask a model the same question count once. */
function questionsOf(plans: Iterable<Plan>, { samples, isPlain }: GivenRows): readonly Question[] {
  const questions = new Map<string, Question>()
  for (const plan of plans)
    for (const step of plan.steps) {
      if (needsMore(step)) continue
      const known = isPlain ? shippedProbes[step.function.name]?.[0]?.sample : undefined
      for (const model of askedModels(step)) {
        const key = `${model}\n${step.identity}\n${JSON.stringify(step.sampling ?? null)}`
        if (!questions.has(key)) questions.set(key, { plan, step, samples: known ? [known] : samples, model })
      }
    }
  return [...questions.values()]
}
