import type { Clock } from '../../core/clock.ts'
import type { Problem } from '../../core/errors.ts'
import type { Outcome } from '../../core/sample/sample.ts'
import { type EngineParts, openEngine } from '../engine/engine.ts'
import type { Plan } from '../plan/plan.ts'
import type { Probe } from './probes.ts'

/** Configs that could score: those that are served, or those that were read to follow them. */
export type CheckTarget = Pick<EngineParts, 'functions' | 'models' | 'secret'> & {
  readonly plans: ReadonlyMap<string, Plan>
}

/** Samples that a reading of the configs must score before it is served. */
export interface RehearsalSettings {
  /** By reward. */
  readonly samples: ReadonlyMap<string, readonly Probe[]>
  /** How far a reward may be from the served one; null: any distance. */
  readonly maxChange: number | null
  readonly timeoutMs: number
}

/**
 * What is wrong with the rewards that `next` gives to known samples: none where there should be one, out of bounds, or
 * too far from what `served` gives. Both score beside all requests, unseen by listeners. Never rejects.
 */
export async function reloadCheck(
  { samples, maxChange, timeoutMs }: RehearsalSettings,
  next: CheckTarget,
  served: CheckTarget,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly Problem[]> {
  const deadline = clock.now() + timeoutMs
  const score = async (stage: CheckTarget, reward: string, probes: readonly Probe[]) => {
    const plan = stage.plans.get(reward)
    if (!plan) return null
    const engine = openEngine({ ...stage, clock, maxRows: probes.length })
    return engine.score({ plan, rows: probes.map(({ sample }) => sample), deadline, signal })
  }
  const found = await Promise.all(
    [...samples].map(async ([reward, probes]) => {
      if (!next.plans.has(reward)) return []
      const [now, before] = await Promise.all([score(next, reward, probes), score(served, reward, probes)])
      return probes.flatMap((probe, at): Problem[] => {
        const message = fault(probe, now?.[at], before?.[at], maxChange)
        return message === null ? [] : [{ path: `reload.samples.${reward}: ${probe.name}`, message }]
      })
    }),
  )
  return found.flat()
}

/** null: nothing is wrong. What had no reward before may go without one, unless it has bounds. */
function fault(
  { min, max }: Probe,
  now: Outcome | undefined,
  before: Outcome | undefined,
  maxChange: number | null,
): string | null {
  const was = before?.valid ? before.reward : null
  if (!now?.valid) {
    const isBound = Number.isFinite(min) || Number.isFinite(max)
    if (was === null && !isBound) return null
    return `has no reward (${now ? now.failure.kind : 'not scored'})${was === null ? '' : `; it has ${was} now`}`
  }
  const { reward } = now
  if (reward < min) return `would have ${reward}, which is below its min of ${min}`
  if (reward > max) return `would have ${reward}, which is above its max of ${max}`
  if (was === null || maxChange === null || Math.abs(reward - was) <= maxChange) return null
  return `would have ${reward} where it has ${was} now: further than reload.max_change, ${maxChange}`
}
