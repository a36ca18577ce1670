import { isObject } from '../dataset/row.ts'

/** The figures of one training step of a run, by name: `reward/mean`, `invalid/rule_timeout`, `terms/quality/mean`, ... */
export interface StepFigures {
  readonly step: number
  /** When its last row was scored, in seconds since 1970. */
  readonly time: number
  readonly figures: Readonly<Record<string, number>>
}

/** What one reward said of one training run, in the order of its steps. */
export interface RunFigures {
  readonly run: string
  readonly reward: string
  readonly steps: readonly StepFigures[]
}

/** Names that a run may have. A reward has some dozens; flags and parts are named by its functions. */
const mostNames = 2000
const longestName = 120

/** Sums rows of the gateway's record by run, reward and training step. Memory grows with the steps, not with the rows. */
export class StepTally {
  readonly #runs = new Map<string, { run: string; reward: string; steps: Map<number, OneStep> }>()
  rows = 0
  /** Rows that are no lines of a record. */
  unlike = 0
  /** Rows that a trainer sent without its step. */
  withoutStep = 0

  add(row: unknown): void {
    this.rows += 1
    if (!isObject(row) || !isObject(row.config) || !isObject(row.sample) || !Array.isArray(row.terms)) {
      this.unlike += 1
      return
    }
    const { run, training_step: step, config } = row
    if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) {
      this.withoutStep += 1
      return
    }
    const names = { run: typeof run === 'string' ? run : '', reward: String(config.reward) }
    const key = JSON.stringify(names)
    const known = this.#runs.get(key) ?? { ...names, steps: new Map<number, OneStep>() }
    this.#runs.set(key, known)
    const one = known.steps.get(step) ?? new OneStep()
    known.steps.set(step, one)
    one.add(row)
  }

  runs(): readonly RunFigures[] {
    return [...this.#runs.values()].map(({ run, reward, steps }) => {
      // What occurs in one step is 0 in the others, so that its line has no gaps.
      const counted = new Set<string>()
      for (const one of steps.values()) for (const name of one.counted) counted.add(name)
      const inOrder = [...steps].sort(([a], [b]) => a - b)
      return { run, reward, steps: inOrder.map(([step, one]) => one.figures(step, counted)) }
    })
  }
}

type Row = Readonly<Record<string, unknown>>

class OneStep {
  #rows = 0
  #invalid = 0
  #time = 0
  readonly #counts = new Map<string, number>()
  readonly #means = new Map<string, { sum: number; squares: number; count: number }>()
  readonly #ms = new Spread()
  readonly #askMs = new Spread()
  #asks = 0
  #called = 0

  add(row: Row): void {
    this.#rows += 1
    const time = typeof row.time === 'string' ? Date.parse(row.time) / 1000 : Number.NaN
    if (time > this.#time) this.#time = time
    const reward = row.valid === true ? finite(row.reward) : null
    if (reward === null) {
      this.#invalid += 1
      this.#count(`invalid/${isObject(row.failure) ? String(row.failure.kind) : 'unknown'}`)
    } else this.#observe('reward', reward)
    if (finite(row.substitute) !== null) this.#count('substituted')
    for (const flag of listOf(row.flags)) this.#count(`flags/${String(flag)}`)
    this.#ms.add(finite(row.ms))
    const sample = row.sample as Row
    this.#tokens(sample.tokens, 'rollout_tokens', ['prompt', 'response'])
    const length = isObject(sample.response) ? finite(sample.response.chars) : null
    const written = typeof sample.response === 'string' ? sample.response.length : length
    if (written !== null) this.#observe('response_chars', written)
    for (const term of listOf(row.terms)) if (isObject(term)) this.#term(term)
  }

  #term(term: Row): void {
    const path = `terms/${String(term.name)}`
    if (term.status === 'failed' || term.status === 'off') this.#count(`${path}/${term.status}`)
    const score = finite(term.score)
    if (score !== null) this.#observe(path, score)
    if (isObject(term.parts))
      for (const [name, part] of Object.entries(term.parts)) {
        const value = finite(part)
        if (value !== null) this.#observe(`${path}/parts/${name}`, value)
      }
    for (const ask of listOf(term.asks)) {
      if (!isObject(ask)) continue
      this.#asks += 1
      if (ask.source !== 'call') continue
      this.#called += 1
      this.#askMs.add(finite(ask.ms))
      this.#tokens(ask.tokens, 'judge_tokens', ['prompt', 'completion'])
    }
  }

  /** Per row or answer, and the sum of the step. */
  #tokens(tokens: unknown, path: string, kinds: readonly string[]): void {
    if (!isObject(tokens)) return
    for (const kind of kinds) {
      const count = finite(tokens[kind])
      if (count !== null) this.#observe(`${path}/${kind}`, count)
    }
  }

  #count(name: string): void {
    const key = shortened(name)
    if (this.#counts.has(key) || this.#counts.size < mostNames)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  #observe(name: string, value: number): void {
    const key = shortened(name)
    const known = this.#means.get(key)
    if (known) {
      known.sum += value
      known.squares += value * value
      known.count += 1
    } else if (this.#means.size < mostNames)
      this.#means.set(key, { sum: value, squares: value * value, count: 1 })
  }

  /** Names of what is counted; its figure is a share of the rows. */
  get counted(): Iterable<string> {
    return this.#counts.keys()
  }

  figures(step: number, counted: Iterable<string>): StepFigures {
    const figures: Record<string, number> = { rows: this.#rows, 'invalid/share': this.#invalid / this.#rows }
    for (const name of counted) figures[name] = (this.#counts.get(name) ?? 0) / this.#rows
    for (const [name, { sum, squares, count }] of this.#means) {
      const mean = sum / count
      figures[`${name}/mean`] = mean
      if (name === 'reward') figures['reward/std'] = Math.sqrt(Math.max(0, squares / count - mean * mean))
      if (name.includes('_tokens/')) figures[`${name}/sum`] = sum
    }
    this.#ms.write('latency_ms', figures)
    if (this.#asks > 0) {
      figures['judge/answers'] = this.#asks
      figures['judge/reused'] = 1 - this.#called / this.#asks
      this.#askMs.write('judge/latency_ms', figures)
    }
    return {
      step,
      time: this.#time,
      figures: Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value))),
    }
  }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const finite = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null
/** Names come from configs, functions and clients. */
const shortened = (name: string): string => name.replace(/[\p{C}\s]/gu, '_').slice(0, longestName)

/** Widths of the bins in which milliseconds are counted: a quantile is right to 1 %. */
const growth = Math.log(1.02)

/** Quantiles of milliseconds in bounded memory. */
class Spread {
  readonly #bins = new Map<number, number>()
  #count = 0
  #most = 0

  add(ms: number | null): void {
    if (ms === null || ms < 0) return
    this.#count += 1
    this.#most = Math.max(this.#most, ms)
    const bin = Math.round(Math.log(Math.max(ms, 0.001)) / growth)
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + 1)
  }

  write(name: string, into: Record<string, number>): void {
    if (this.#count === 0) return
    const sorted = [...this.#bins].sort(([a], [b]) => a - b)
    for (const share of [50, 95]) {
      let left = (share / 100) * this.#count
      const found = sorted.find(([, count]) => {
        left -= count
        return left <= 0
      })
      into[`${name}/p${share}`] = Math.min(this.#most, Math.exp((found?.[0] ?? 0) * growth))
    }
    into[`${name}/max`] = this.#most
  }
}
