import { type Clock, systemClock } from '../../core/clock.ts'
import type { Outcome, Sample } from '../../core/sample/sample.ts'
import { type Engine, openEngine } from '../../scoring/engine/engine.ts'
import type { FunctionHost } from '../../scoring/functions/function-host.ts'
import type { ModelConfig } from '../../scoring/models/interface/model-config.ts'
import type { Models } from '../../scoring/models/models.ts'
import { openModels } from '../../scoring/models/models.ts'
import type { Plan, PlanStep } from '../../scoring/plan/plan.ts'
import type { Resolved } from '../../scoring/plan/resolve.ts'
import { Sandboxes } from '../../scoring/sandboxes/sandboxes.ts'

/** A reward, opened as in a gateway but without record, canaries and server. */
export interface OpenedReward {
  readonly plan: Plan
  /** The plan without model steps. null if nothing is left. */
  readonly rules: Plan | null
  readonly functions: FunctionHost
  readonly models: Models
  readonly resolved: Resolved
  readonly clock: Clock
  /** Resolves with one outcome for each row. */
  score(plan: Plan, rows: readonly Sample[], signal: AbortSignal): Promise<readonly Outcome[]>
  close(): Promise<void>
}

/** The key of the guard's fences. Shown questions are never sent. */
export const secret = 'preflight'
const patienceMs = 600_000
const waitSeconds = 5
const maxRows = Number.POSITIVE_INFINITY

/** The caller closes `functions`. */
export function openReward(
  resolved: Resolved,
  plan: Plan,
  functions: FunctionHost,
  env: Readonly<Record<string, string | undefined>>,
): OpenedReward {
  const clock = systemClock
  const models = openModels(Object.fromEntries([...resolved.models].map(impatient)), { clock, env })
  const sandboxes = new Sandboxes(resolved.gateway.sandboxes, { clock, env, events: {} })
  const engine: Engine = openEngine({ functions, models, sandboxes, clock, secret, maxRows })
  return {
    plan,
    rules: rulesOf(plan),
    functions,
    models,
    resolved,
    clock,
    score: (plan, rows, signal) => engine.score({ plan, rows, deadline: clock.now() + patienceMs, signal }),
    close() {
      sandboxes.close()
      return models.close()
    },
  }
}

/** Shortens the wait for a server that does not answer. */
const impatient = ([name, config]: readonly [string, ModelConfig]): [string, ModelConfig] => [
  name,
  config.wait_for_instance === 'deadline' ? { ...config, wait_for_instance: waitSeconds } : config,
]

/** A rule whose condition depends on a judge is left out as well. */
function rulesOf(plan: Plan): Plan | null {
  let steps: readonly PlanStep[] = plan.steps.filter(({ kind }) => kind === 'rule' || kind === 'program')
  for (let before = -1; before !== steps.length; ) {
    before = steps.length
    const names = new Set(steps.map(({ name }) => name))
    steps = steps.filter(({ needs }) => needs.every((name) => names.has(name)))
  }
  if (steps.length === 0) return null
  const isWhole = steps.length === plan.steps.length
  // Rows of a data set have no rewards of the environment yet.
  const formula = isWhole && !plan.formula?.environment ? plan.formula : null
  return { ...plan, steps, gate: null, formula, onInvalid: { kind: 'null' } }
}
