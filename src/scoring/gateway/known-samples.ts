import { statSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Json, Outcome, Sample } from '../../core/sample/sample.ts'
import { type Canary, type CanaryParts, openCanary } from '../canary/canary.ts'
import type { Probe } from '../canary/probes.ts'
import { type EngineParts, openEngine } from '../engine/engine.ts'
import type { GatewaySettings, KnownSample } from '../plan/gateway-config.ts'
import type { Plan } from '../plan/plan.ts'

/** The canaries that the settings configure; null if none. */
export function canaryOf({ canary }: GatewaySettings, parts: CanaryParts): Canary | null {
  if (!canary) return null
  const { every_s, timeout_s, wrong_rounds, max_unreadable, eject, probes } = canary
  return openCanary(
    {
      everyMs: every_s * 1000,
      timeoutMs: timeout_s * 1000,
      wrongRounds: wrong_rounds,
      maxUnreadable: max_unreadable,
      eject,
      probes: new Map(Object.entries(probes).map(([name, list]) => [name, list.map(probeOf)])),
    },
    parts,
  )
}

/** Converts a known sample of the configs into a probe. */
function probeOf(written: KnownSample): Probe {
  const { name, prompt, response, ground_truth, rm_prompt, extra_info } = written
  const sample: Sample = {
    id: `canary ${name}`,
    prompt,
    response,
    groundTruth: (ground_truth ?? null) as Json,
    rmPrompts: {},
    extraInfo: extra_info as Readonly<Record<string, Json>>,
    ...(rm_prompt !== undefined && { rmPrompt: rm_prompt }),
  }
  return {
    name,
    sample,
    min: written.min ?? Number.NEGATIVE_INFINITY,
    max: written.max ?? Number.POSITIVE_INFINITY,
  }
}

/**
 * Throws RG_CONFIG_INVALID if `reload.samples` names unknown rewards. Skipped when a single rm-config was read together with the
 * gateway.yaml beside it, because the other rewards are not known then.
 */
export function checkRehearsal(
  { reload }: GatewaySettings,
  plans: ReadonlyMap<string, Plan>,
  configs: readonly string[],
): void {
  if (!configs.every((path) => statSync(path).isDirectory())) return
  const problems = Object.keys(reload?.samples ?? {})
    .filter((name) => !plans.has(name))
    .map((name) => ({
      path: `gateway.yaml: reload.samples.${name}`,
      message: `no reward '${name}'${didYouMean(name, plans.keys())}`,
    }))
  if (problems.length > 0)
    throw new GatewayError('RG_CONFIG_INVALID', 'reload.samples names unknown rewards', {
      problems,
    })
}

/** Rejects with RG_RELOAD_REFUSED if the configured samples do not get the rewards that `reload` allows. */
export async function checkReload(
  next: CheckTarget & { readonly settings: GatewaySettings },
  served: CheckTarget,
  at: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { reload } = next.settings
  if (!reload) return
  const samples = new Map(
    Object.entries(reload.samples).map(([reward, list]) => [
      reward,
      list.map((written) => {
        const { data_source, group_id } = written
        const probe = probeOf(written)
        const sample = {
          ...probe.sample,
          ...(data_source !== undefined && { dataSource: data_source }),
          ...(group_id !== undefined && { group: { id: group_id } }),
        }
        return { ...probe, sample }
      }),
    ]),
  )
  const settings = { samples, maxChange: reload.max_change ?? null, timeoutMs: reload.timeout_s * 1000 }
  const problems = await reloadCheck(settings, next, served, at)
  if (problems.length === 0) return
  const count = [...samples.values()].reduce((sum, list) => sum + list.length, 0)
  throw new GatewayError(
    'RG_RELOAD_REFUSED',
    `${problems.length} of the ${count} samples in reload.samples fail their checks; the old configs stay in use`,
    { problems },
  )
}

/** A reading of the configs that samples can be scored with: the served one or its candidate successor. */
type CheckTarget = Pick<EngineParts, 'functions' | 'models' | 'sandboxes' | 'secret'> & {
  readonly plans: ReadonlyMap<string, Plan>
}

/** The samples that a new reading of the configs must score before it is served. */
interface RehearsalSettings {
  /** By reward name. */
  readonly samples: ReadonlyMap<string, readonly Probe[]>
  /** The largest allowed difference from the served reward; null: no limit. */
  readonly maxChange: number | null
  readonly timeoutMs: number
}

/**
 * What is wrong with the rewards that `next` gives known samples: a missing reward, one out of bounds, or one too far from the
 * reward that `served` gives. Both score outside all requests and without listeners. Never rejects.
 */
async function reloadCheck(
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

/** Null if nothing is wrong. A sample without bounds that had no reward before needs none now. */
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
  return `would have ${reward}, and has ${was} now, a change of more than reload.max_change (${maxChange})`
}
