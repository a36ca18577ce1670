import { quantile, quantileOf } from './bounds.ts'
import { asked, isByRule, kinds, type Row } from './load.ts'
import { isAlive } from './replica.ts'
import type { Stage } from './stage.ts'
import { realTime } from './timeline.ts'
import type { Final, Trainer } from './trainer.ts'

/** When run B was under way, on the clock of the step, and the gateway's CPU milliseconds meanwhile. */
export interface Burst {
  readonly fromMs: number
  readonly untilMs: number
  readonly cpuMs: number
}

interface Used {
  /** CPU milliseconds a row. */
  readonly cpuOfA: number
  readonly cpuOfB: number
  /** Most of one replica, bytes. */
  readonly peakRss: number
  /** Milliseconds. */
  readonly loopP99: number
  readonly loopMost: number
  /** Questions that the judges' servers worked on. */
  readonly questions: number
}

const mib = 2 ** 20

/** Reads what the replicas and the judges' servers used over a step. `now`: milliseconds on its clock. */
export class Measures {
  readonly #stage: Stage
  readonly #trainer: Trainer
  readonly #now: () => number
  #cpuBefore = 0
  #askedBefore = 0

  constructor(stage: Stage, trainer: Trainer, now: () => number) {
    this.#stage = stage
    this.#trainer = trainer
    this.#now = now
  }

  async begin(): Promise<void> {
    this.#askedBefore = await this.#questions()
    for (const replica of this.#stage.replicas) replica.begin()
    this.#cpuBefore = this.#cpuMs()
  }

  /** Where the step is, in a line. */
  state(): string {
    const { finals, underWay, bytesUnderWay, ends } = this.#trainer
    const kindsUnderWay = kinds
      .map((kind) => [kind, [...underWay.keys()].filter((row) => row.kind === kind).length] as const)
      .filter(([, count]) => count > 0)
    return `${finals.size} rewards, under way ${underWay.size} (${kindsUnderWay.map((pair) => pair.join(' ')).join(', ')}), ${Math.round(bytesUnderWay / mib)} MiB, refused ${ends.refused}, lost ${ends.lost}, CPU ${Math.round((this.#cpuMs() - this.#cpuBefore) / 1000)} s`
  }

  /** Resolves when run B, which comes then, has all its rewards, or at a limit. */
  async burst(fromMs: number, rows: readonly Row[], limitMs: number): Promise<Burst> {
    const { pause } = this.#stage.time
    await pause(fromMs - this.#now())
    const before = this.#cpuMs()
    const own = rows.filter(({ kind }) => kind === 'burst')
    const isOver = () =>
      own.every((row) => this.#trainer.finals.has(row.id) || this.#trainer.cancelled.has(row))
    while (!isOver() && this.#now() < limitMs) await pause(100)
    return { fromMs, untilMs: this.#now(), cpuMs: this.#cpuMs() - before }
  }

  /** Milliseconds so far in which trainer, balancer and replicas stood in line for a core, one after the other at most. */
  waitedMs(): number {
    return Math.max(...this.#stage.replicas.map((_, replica) => this.#stage.waitedMs(replica)))
  }

  async end({ fromMs, untilMs, cpuMs }: Burst): Promise<Used> {
    const { replicas } = this.#stage
    const blocks = new Map<number, number>()
    for (const replica of replicas)
      for (const [ms, count] of replica.blocks) blocks.set(ms, (blocks.get(ms) ?? 0) + count)
    const { answers } = this.#trainer
    const ofA = answers.filter(({ row }) => row.kind !== 'burst')
    const within = ofA.filter(({ doneMs }) => doneMs >= fromMs && doneMs <= untilMs)
    const cpuOfA = (this.#cpuMs() - this.#cpuBefore - cpuMs) / (ofA.length - within.length)
    return {
      cpuOfA,
      cpuOfB: (cpuMs - cpuOfA * within.length) / (answers.length - ofA.length),
      peakRss: Math.max(...replicas.map(({ peakRss }) => peakRss)),
      loopP99: quantileOf(blocks, 0.99),
      loopMost: Math.max(...blocks.keys()),
      questions: (await this.#questions()) - this.#askedBefore,
    }
  }

  #cpuMs(): number {
    return this.#stage.replicas.reduce((sum, replica) => sum + replica.cpuMs(), 0)
  }

  async #questions(): Promise<number> {
    const stats = await Promise.all(this.#stage.servers.map((server) => server.stats()))
    return stats.reduce((sum, { sequences }) => sum + sequences.finished + sequences.aborted, 0)
  }
}

/** What is still under way at replicas and servers once nobody waits. */
export async function leftInFlight({ replicas, servers, time }: Stage): Promise<number> {
  const gauges = [
    'samples_in_flight',
    'upstream_in_flight',
    'upstream_waiting',
    'questions_parked',
    'sandbox_in_flight',
  ]
  for (let tries = 0; ; tries++) {
    const counts = await Promise.all([
      ...replicas.flatMap((replica) => gauges.map((gauge) => replica.metric(`reward_gateway_${gauge}`))),
      ...servers.map(async (server) => (await server.stats()).running),
    ])
    const left = counts.reduce((sum, count) => sum + count, 0)
    if (left === 0 || tries === 50) return left
    await time.pause(200)
  }
}

/** How many of these processes are there after some seconds. */
export async function stillAlive(pids: readonly number[]): Promise<number> {
  for (let tries = 0; ; tries++) {
    const alive = pids.filter(isAlive).length
    if (alive === 0 || tries === 30) return alive
    await realTime.pause(100)
  }
}

/** From the first try to the reward. */
const msOf = ({ sentMs, doneMs }: Final): number => doneMs - sentMs

/**
 * p99 of the rows by rule only, milliseconds, and how much of it trainer, balancer or replica stood in line for a core: of those that
 * arrived, or of those that were asked again.
 */
export function p99ByRule(answers: readonly Final[], ofAgain: boolean): { ms: number; waitedMs: number } {
  const rows = answers.filter(
    ({ row, isAgain, failure }) => isByRule(row) && isAgain === ofAgain && failure !== 'aborted',
  )
  const ms = quantile(rows.map(msOf), 0.99)
  const served = rows.map((final) => Math.max(0, msOf(final) - final.waitedMs))
  return { ms, waitedMs: ms - quantile(served, 0.99) }
}

/**
 * p99 of the rows of run A that ask what run B asks: those that were sent while it was under way, over the others. NaN: run A has no such
 * rows.
 */
export function burstRatio(
  finals: readonly Final[],
  { fromMs, untilMs }: Burst,
): { ratio: number; note: string } {
  const asking = finals.filter(({ row }) => row.kind !== 'burst' && asked(row).small && !asked(row).big)
  const isWithin = ({ sentMs }: Final) => sentMs >= fromMs && sentMs <= untilMs
  const [within, otherwise] = [asking.filter(isWithin), asking.filter((final) => !isWithin(final))]
  const [one, other] = [within, otherwise].map((some) => quantile(some.map(msOf), 0.99)) as [number, number]
  const note = `${within.length} rows ${Math.round(one)} ms, ${otherwise.length} rows ${Math.round(other)} ms`
  return { ratio: asking.length === 0 ? Number.NaN : within.length === 0 ? 0 : one / other, note }
}

/** How long rows of each kind took. */
export function kindsTable(finals: readonly Final[]): string {
  const lines = kinds.map((kind) => {
    const ms = finals.filter(({ row }) => row.kind === kind).map(msOf)
    const at = (q: number) => `${(quantile(ms, q) / 1000).toFixed(2)} s`
    return `| ${kind} | ${ms.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`
  })
  return ['| rows of | | p50 | p99 | most |', '| --- | --- | --- | --- | --- |', ...lines].join('\n')
}
