/**
 * Canaries: samples with known verdicts that every instance of every judge is asked periodically. A server with a wrong chat
 * template or broken weights looks healthy on its own /health. Canaries find it, take it out, and take it back when it judges
 * correctly again.
 */

import type { Failure, Sample, Term } from '../../core/sample/sample.ts'
import { RequestTimes } from '../../core/stalls/request-times.ts'
import type { StepContext } from '../engine/context.ts'
import type { EngineParts } from '../engine/engine.ts'
import { CrossRequestGroups } from '../engine/groups/cross-request-groups.ts'
import { RequestGroups } from '../engine/groups/request-groups.ts'
import { Gates } from '../engine/job.ts'
import { judgeQuery } from '../engine/judge/ask.ts'
import { questionsTerm } from '../engine/judge/questions-step.ts'
import type { Vote } from '../engine/judge/votes.ts'
import { rowOf } from '../engine/step.ts'
import { askedModels, type Plan, type PlanStep } from '../plan/plan.ts'
import { type Probe, probesAsShipped } from './probes.ts'

/** How often instances are probed, and when one is ejected or restored. */
interface CanarySettings extends Tolerance {
  readonly everyMs: number
  /** Limit for one probe. */
  readonly timeoutMs: number
  /** False: report failing instances but keep using them. */
  readonly eject: boolean
  /** By function name. Probes listed here replace the shipped ones for that function. */
  readonly probes: ReadonlyMap<string, readonly Probe[]>
}

export interface CanaryEvents {
  probed?(event: {
    readonly model: string
    readonly instance: string
    readonly function: string
    readonly probe: string
    readonly result: ProbeResult
  }): void
  /** The probes found that an instance misjudges; `reason` null: it judges correctly again. */
  judged?(event: { readonly model: string; readonly instance: string; readonly reason: string | null }): void
  /** The instance is no longer probed: it was removed or does not answer at all. */
  left?(event: { readonly model: string; readonly instance: string }): void
}

/** The engine parts that probes are scored with. */
export type CanaryParts = Pick<EngineParts, 'functions' | 'models' | 'sandboxes' | 'clock' | 'secret'> & {
  readonly plans: Iterable<Plan>
  readonly events?: CanaryEvents
}

/** Probes periodically until closed. */
export interface Canary {
  /** Stops probing and aborts the probes in progress. */
  close(): void
}

interface Target {
  readonly plan: Plan
  readonly step: PlanStep
  readonly model: string
  readonly probes: readonly Probe[]
}

/** The first round, and the one after a doubtful round, come after this share of the interval. */
const soonShare = 0.1

/** Starts the rounds; the first comes after a tenth of the interval. */
export function openCanary(settings: CanarySettings, parts: CanaryParts): Canary {
  const { clock, models, events = {} } = parts
  const targets = targetsOf(parts.plans, settings)
  const judged = new Map<
    string,
    { readonly model: string; readonly instance: string; readonly verdict: InstanceVerdict }
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
    const { verdict } = judged.get(key) ?? { verdict: new InstanceVerdict(isSuspect) }
    judged.set(key, { model, instance, verdict })
    const change = verdict.push(round, settings)
    if (!change) return
    const { reason } = change
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
    for (const [key, { model, instance }] of judged) {
      if (known.has(key)) continue
      judged.delete(key)
      events.left?.({ model, instance })
    }
    await Promise.all(places.map(({ model, address, isSuspect }) => visit(model, address, isSuspect)))
    if (ended.signal.aborted) return
    const isDoubtful = [...judged.values()].some(({ verdict }) => verdict.isDoubtful)
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

/** Every judge of every plan. Steps that ask the same model the same question count once. */
function targetsOf(plans: Iterable<Plan>, { probes }: CanarySettings): readonly Target[] {
  const targets = new Map<string, Target>()
  for (const plan of plans) {
    for (const step of plan.steps) {
      const own = probes.get(step.function.name) ?? probesAsShipped(step.function)
      // Critiques give no verdict, and a step that reads earlier steps cannot be asked without them.
      if (
        !own ||
        (step.kind !== 'model' && step.kind !== 'questions') ||
        step.critique ||
        step.after.length > 0
      )
        continue
      for (const model of askedModels(step)) {
        const key = `${model}\n${step.identity}\n${JSON.stringify(step.sampling ?? null)}`
        if (!targets.has(key)) targets.set(key, { plan, step, model, probes: own })
      }
    }
  }
  return [...targets.values()]
}

/** The result of one probe. `no_call` and `failed` say nothing about the quality of the instance's verdicts. */
export type ProbeResult = 'passed' | 'wrong' | 'unreadable' | 'no_call' | 'failed'

/** The bounds `min` and `max` are inclusive. */
function resultOf({ min, max }: Probe, probed: Probed): ProbeResult {
  if (probed.status !== 'verdict') return probed.status
  return probed.value >= min && probed.value <= max ? 'passed' : 'wrong'
}

/** When an instance is ejected. */
interface Tolerance {
  /** Eject after this many consecutive rounds with a wrong verdict. */
  readonly wrongRounds: number
  /** Eject if a larger share of the recent answers has no verdict. */
  readonly maxUnreadable: number
}

/** The window of recent answers for the unreadable share, and the minimum number of answers. */
const answers = { most: 20, least: 5 }

/** Tracks what the probes say about one instance of one model. */
export class InstanceVerdict {
  #isSuspect: boolean
  #wrongRounds = 0
  #unreadable: boolean[] = []

  constructor(isSuspect: boolean) {
    this.#isSuspect = isSuspect
  }

  /**
   * Adds a round's results. Returns what changed: a reason to distrust the instance, or `reason` null if it is trusted again.
   * Null if nothing changed.
   */
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
      return this.#doubted(`it misjudges ${wrong} of ${said.length} known answers`)
    if (length >= answers.least && unreadable / length > tolerance.maxUnreadable)
      return this.#doubted(`${unreadable} of its last ${length} answers to known questions hold no verdict`)
    return null
  }

  /** The last round was not clean but is not conclusive, so the next one should come soon. */
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

/** What one instance said about a known sample. `no_call`: the function asks no question about it. */
export type Probed =
  | { readonly status: 'verdict'; readonly value: number }
  | { readonly status: 'unreadable' }
  | { readonly status: 'no_call' }
  | { readonly status: 'failed'; readonly failure: Failure }

/** Where a probe is sent; `deadline` is on the engine's clock. */
interface ProbeAim {
  readonly plan: Plan
  readonly step: PlanStep
  readonly model: string
  readonly instance: string
  readonly deadline: number
  readonly signal: AbortSignal
}

/** Asks one instance about a sample as the step would, outside all requests and without calling listeners. Never rejects. */
export async function probe(
  parts: Omit<EngineParts, 'maxRows' | 'events'>,
  sample: Sample,
  aim: ProbeAim,
): Promise<Probed> {
  const { plan, step, model, instance, deadline, signal } = aim
  const { functions, models, sandboxes, clock, secret } = parts
  const context: StepContext = {
    functions,
    models,
    sandboxes,
    clock,
    secret,
    job: { plan, rows: [sample], deadline, signal },
    end: { signal, isOver: false, dispose() {} },
    gates: new Gates(),
    times: new RequestTimes(1, clock.now()),
    groups: () => new RequestGroups([sample], clock, async () => []),
    crossRequestGroups: new CrossRequestGroups(clock, async () => []),
    hold: () => () => {},
  }
  const row = rowOf(step, sample, [], 0, 0)
  if (step.kind === 'questions') {
    const once: PlanStep = { ...step, models: [model], votes: { ...step.votes, n: 1, min: 1 } }
    return probedTerm(await questionsTerm(context, once, row, instance))
  }
  const asked = await functions.call({ op: 'preprocess', function: step.function, rows: [row] })
  if (asked.status === 'failed') return asked
  if (asked.status !== 'question') return { status: 'no_call' }
  return readingOf(await judgeQuery(context, step, [row], asked.question).ask({ model, draw: 0, instance }))
}

function probedTerm(term: Term): Probed {
  if (term.status === 'scored')
    return term.score.flags?.includes('no_call') || term.score.flags?.includes('refused')
      ? { status: 'no_call' }
      : { status: 'verdict', value: term.score.value }
  if (term.status !== 'failed') return { status: 'no_call' }
  return term.failure.kind === 'judge_unparseable'
    ? { status: 'unreadable' }
    : { status: 'failed', failure: term.failure }
}

function readingOf(vote: Vote): Probed {
  if (vote.status === 'failed') return { status: 'failed', failure: vote.failure }
  const [verdict = null] = vote.status === 'read' ? vote.verdicts : []
  return verdict ? { status: 'verdict', value: verdict.value } : { status: 'unreadable' }
}
