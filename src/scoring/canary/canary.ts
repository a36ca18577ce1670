/**
 * Canaries: samples with known verdicts, asked of every instance of every judge from time to time. A server with a wrong
 * chat template or broken weights looks healthy to its own /health; here it is found, taken out, and taken back when it
 * judges rightly again.
 */
import type { EngineParts } from '../engine/engine.ts'
import { probe } from '../engine/judge/probe.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import { InstanceVerdict, type ProbeResult, resultOf, type Tolerance } from './instance-verdict.ts'
import { type Probe, shippedProbes } from './probes.ts'

/** How often instances are asked, and when one is out or back. */
export interface CanarySettings extends Tolerance {
  readonly everyMs: number
  /** One probe. */
  readonly timeoutMs: number
  /** False: tell, but leave every instance where it is. */
  readonly eject: boolean
  /** By function name; those of a name replace the shipped ones. */
  readonly probes: ReadonlyMap<string, readonly Probe[]>
}

/** What the canaries tell. */
export interface CanaryEvents {
  probed?(event: {
    readonly model: string
    readonly instance: string
    readonly function: string
    readonly probe: string
    readonly result: ProbeResult
  }): void
  /** The probes say that an instance does not judge rightly, or (null) that it does again. */
  judged?(event: { readonly model: string; readonly instance: string; readonly reason: string | null }): void
  /** The instance is not probed any more: it has gone, or does not answer at all. */
  left?(event: { readonly model: string; readonly instance: string }): void
}

/** What of the engine the probes are judged by. */
export type CanaryParts = Pick<EngineParts, 'functions' | 'models' | 'clock' | 'secret'> & {
  readonly plans: Iterable<Plan>
  readonly events?: CanaryEvents
}

/** Probes at their times, until closed. */
export interface Canary {
  /** Ends after what is under way was given up. */
  close(): void
}

/** A step that is probed, and the probes of its function. */
interface Target {
  readonly plan: Plan
  readonly step: PlanStep
  readonly model: string
  readonly probes: readonly Probe[]
}

/** The first round comes after a tenth of the time between rounds, and so does the next one after a doubtful round. */
const soonShare = 0.1

/** The first round comes after a tenth of the time between rounds. */
export function openCanary(settings: CanarySettings, parts: CanaryParts): Canary {
  const { clock, models, events = {} } = parts
  const targets = targetsOf(parts.plans, settings)
  const standings = new Map<
    string,
    { readonly model: string; readonly instance: string; readonly standing: InstanceVerdict }
  >()
  const ended = new AbortController()
  let cancel = () => {}

  const ask = async ({ plan, step, model, probes }: Target, instance: string): Promise<ProbeResult[]> => {
    const results: ProbeResult[] = []
    for (const known of probes) {
      if (ended.signal.aborted) break
      const deadline = clock.now() + settings.timeoutMs
      const aim = { plan, step, model, instance, deadline, signal: ended.signal }
      const result = resultOf(known, await probe(parts, known.sample, aim))
      const { name } = step.function
      events.probed?.({ model, instance, function: name, probe: known.name, result })
      results.push(result)
    }
    return results
  }

  const visit = async (model: string, instance: string, isSuspect: boolean): Promise<void> => {
    const round: ProbeResult[] = []
    for (const target of targets) if (target.model === model) round.push(...(await ask(target, instance)))
    if (ended.signal.aborted) return
    const key = `${model}\n${instance}`
    const { standing } = standings.get(key) ?? { standing: new InstanceVerdict(isSuspect) }
    standings.set(key, { model, instance, standing })
    const verdict = standing.push(round, settings)
    if (!verdict) return
    const { reason } = verdict
    if (settings.eject || reason === null) models.suspect(model, instance, reason)
    events.judged?.({ model, instance, reason })
  }

  const round = async (): Promise<void> => {
    const places = models
      .snapshot()
      .flatMap(({ name, instances }) =>
        instances
          .filter(({ state }) => state === 'ready' || state === 'fails-canary')
          .map(({ address, state }) => ({ model: name, address, isSuspect: state === 'fails-canary' })),
      )
    const known = new Set(places.map(({ model, address }) => `${model}\n${address}`))
    for (const [key, { model, instance }] of standings) {
      if (known.has(key)) continue
      standings.delete(key)
      events.left?.({ model, instance })
    }
    await Promise.all(places.map(({ model, address, isSuspect }) => visit(model, address, isSuspect)))
    if (ended.signal.aborted) return
    const isDoubtful = [...standings.values()].some(({ standing }) => standing.isDoubtful)
    next(isDoubtful ? settings.everyMs * soonShare : settings.everyMs)
  }

  const next = (ms: number): void => {
    cancel = clock.after(ms, () => void round())
  }

  if (targets.length > 0) next(settings.everyMs * soonShare)
  return {
    close() {
      cancel()
      ended.abort()
    },
  }
}

/** Every judge of every plan once: steps that ask the same question of the same model are one. */
function targetsOf(plans: Iterable<Plan>, { probes }: CanarySettings): readonly Target[] {
  const targets = new Map<string, Target>()
  for (const plan of plans) {
    for (const step of plan.steps) {
      const own =
        probes.get(step.function.name) ?? (isAsShipped(step) ? shippedProbes[step.function.name] : null)
      // Critiques give no verdict, and what reads earlier steps cannot be asked without them.
      if (!own || step.kind !== 'model' || step.critique || step.after.length > 0) continue
      for (const model of step.models) {
        const key = `${model}\n${step.identity}\n${JSON.stringify(step.sampling ?? null)}`
        if (!targets.has(key)) targets.set(key, { plan, step, model, probes: own })
      }
    }
  }
  return [...targets.values()]
}

/** With another template the question may be another one, and so the right verdict. */
const isAsShipped = ({ function: { options } }: PlanStep): boolean =>
  options === null || typeof options !== 'object' || !('template' in options)
