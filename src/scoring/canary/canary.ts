import type { Failure, Sample } from '../../core/sample/sample.ts'
import type { StepContext } from '../engine/context.ts'
import type { EngineParts } from '../engine/engine.ts'
import { Gates } from '../engine/gate.ts'
import { CrossRequestGroups } from '../engine/groups/cross-request-groups.ts'
import { RequestGroups } from '../engine/groups/request-groups.ts'
import { judgeQuery } from '../engine/judge/ask.ts'
import type { VoteResult } from '../engine/judge/votes.ts'
import { rowOf } from '../engine/step.ts'
import type { Plan, PlanStep } from '../plan/plan.ts'
import { type Probe, shippedProbes } from './probes.ts'

/**
 * Canaries: samples with known verdicts, asked of every instance of every judge from time to time. A server with a wrong
 * chat template or broken weights looks healthy to its own /health; here it is found, taken out, and taken back when it
 * judges rightly again.
 */

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

/** How one probe went. `no_call` and `failed` say nothing about the instance's judgement. */
export type ProbeResult = 'passed' | 'wrong' | 'unreadable' | 'no_call' | 'failed'

/** Both ends of the probe's range pass. */
export function resultOf({ min, max }: Probe, probed: Probed): ProbeResult {
  if (probed.status !== 'verdict') return probed.status
  return probed.value >= min && probed.value <= max ? 'passed' : 'wrong'
}

/** When an instance is taken out. */
export interface Tolerance {
  /** Rounds in a row with a wrong verdict. */
  readonly wrongRounds: number
  /** Share of the last answers without a verdict that is borne. */
  readonly maxUnreadable: number
}

/** Answers that the share of unreadable ones is taken of, and the least that it needs. */
const answers = { most: 20, least: 5 }

/** What the probes say about one instance of one model. */
export class InstanceVerdict {
  #isSuspect: boolean
  #wrongRounds = 0
  #unreadable: boolean[] = []

  constructor(isSuspect: boolean) {
    this.#isSuspect = isSuspect
  }

  /** A round's results; what changed by them: a reason to doubt the instance, or (null) that it is trusted again. */
  push(round: readonly ProbeResult[], tolerance: Tolerance): { readonly reason: string | null } | null {
    const said = round.filter((result) => result !== 'no_call' && result !== 'failed')
    if (said.length === 0) return null
    const wrong = said.filter((result) => result === 'wrong').length
    this.#wrongRounds = wrong > 0 ? this.#wrongRounds + 1 : 0
    this.#unreadable = [...this.#unreadable, ...said.map((result) => result === 'unreadable')].slice(
      -answers.most,
    )
    if (this.#isSuspect) return said.every((result) => result === 'passed') ? this.#trusted() : null
    const unreadable = this.#unreadable.filter(Boolean).length
    const { length } = this.#unreadable
    if (this.#wrongRounds >= tolerance.wrongRounds)
      return this.#doubted(`it judges ${wrong} of ${said.length} known answers wrongly`)
    if (length >= answers.least && unreadable / length > tolerance.maxUnreadable)
      return this.#doubted(`${unreadable} of its last ${length} answers to known questions hold no verdict`)
    return null
  }

  /** The last round was not clean, and says nothing certain yet: the next one should come soon. */
  get isDoubtful(): boolean {
    return !this.#isSuspect && (this.#wrongRounds > 0 || this.#unreadable.slice(-3).includes(true))
  }

  #doubted(reason: string): { readonly reason: string } {
    this.#isSuspect = true
    return { reason }
  }

  #trusted(): { readonly reason: null } {
    this.#isSuspect = false
    this.#unreadable = []
    return { reason: null }
  }
}

/** What one instance said of a known sample; `no_call`: the function asks nothing about it. */
export type Probed =
  | { readonly status: 'verdict'; readonly value: number }
  | { readonly status: 'unreadable' }
  | { readonly status: 'no_call' }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Where a probe goes, and how long it may take, on the engine's clock. */
export interface ProbeAim {
  readonly plan: Plan
  readonly step: PlanStep
  readonly model: string
  readonly instance: string
  readonly deadline: number
  readonly signal: AbortSignal
}

/** Asks one instance about a sample as the step would, beside all requests and unseen by listeners. Never rejects. */
export async function probe(
  parts: Omit<EngineParts, 'maxRows' | 'events'>,
  sample: Sample,
  aim: ProbeAim,
): Promise<Probed> {
  const { plan, step, model, instance, deadline, signal } = aim
  const { functions, models, clock, secret } = parts
  const context: StepContext = {
    functions,
    models,
    clock,
    secret,
    job: { plan, rows: [sample], deadline, signal },
    end: { signal, isOver: false, dispose() {} },
    gates: new Gates(),
    groups: new RequestGroups([sample], clock, async () => []),
    crossRequestGroups: new CrossRequestGroups(clock, async () => []),
    hold: () => () => {},
  }
  const row = rowOf(step, sample, [])
  const asked = await functions.call({ op: 'preprocess', function: step.function, rows: [row] })
  if (asked.status === 'failed') return asked
  if (asked.status === 'verdicts') return { status: 'no_call' }
  return readingOf(await judgeQuery(context, step, [row], asked.question).ask({ model, draw: 0, instance }))
}

function readingOf(drawn: VoteResult): Probed {
  if (drawn.status === 'failed') return { status: 'failed', failure: drawn.failure }
  const [verdict = null] = drawn.status === 'read' ? drawn.verdicts : []
  return verdict ? { status: 'verdict', value: verdict.value } : { status: 'unreadable' }
}
