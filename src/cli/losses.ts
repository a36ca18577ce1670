import type { FailureKind } from '../sample/failure.ts'
import type { Outcome } from '../sample/outcome.ts'

/** Why rows of a file have no reward: how many of each kind, and the first of each. */
export class Losses {
  #rows = 0
  readonly #byKind = new Map<FailureKind, { count: number; readonly first: string }>()

  add(outcomes: readonly Outcome[]): void {
    this.#rows += outcomes.length
    for (const outcome of outcomes) {
      if (outcome.valid) continue
      const { kind, detail, step } = outcome.failure
      const known = this.#byKind.get(kind)
      if (known) known.count++
      else {
        const at = step === undefined ? '' : `, step ${step}`
        this.#byKind.set(kind, { count: 1, first: `row '${outcome.id}'${at}: ${detail}` })
      }
    }
  }

  /** A line a kind, after how many rows there are; '' where every row has a reward. */
  text(): string {
    if (this.#byKind.size === 0) return ''
    const lines = [...this.#byKind].map(([kind, { count, first }]) => `  ${count} ${kind}, first ${first}\n`)
    const lost = [...this.#byKind.values()].reduce((sum, { count }) => sum + count, 0)
    return `${lost} of ${this.#rows} rows ${lost === 1 ? 'has' : 'have'} no reward:\n${lines.join('')}`
  }
}
