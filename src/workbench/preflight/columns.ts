import { nearestName } from '../../core/nearest-name.ts'
import type { Plan } from '../../scoring/plan/plan.ts'
import { isObject } from '../dataset/fields.ts'
import type { Findings } from './finding.ts'
import type { Item } from './item.ts'

/** Columns that a trainer and the reward need, and a data_source that a step of the reward knows. */
export class Columns {
  readonly #plan: Plan
  readonly #findings: Findings
  readonly #missing = new Map<string, string[]>()
  #rows = 0

  constructor(plan: Plan, findings: Findings) {
    this.#plan = plan
    this.#findings = findings
  }

  look({ row, sample, place }: Item): void {
    this.#rows++
    const lacks = (column: string) => {
      const places = this.#missing.get(column)
      if (places) places.push(place)
      else this.#missing.set(column, [place])
    }
    if ((row.prompt ?? row.input) === undefined) lacks('prompt')
    if (typeof row.data_source === 'string') this.#know(sample.dataSource ?? '', place)
    else if (isObject(row.reward_model) || this.#plan.steps.some(({ dataSource }) => dataSource !== null))
      lacks('data_source')
  }

  #know(source: string, place: string): void {
    const { steps } = this.#plan
    if (steps.some(({ dataSource }) => dataSource === null || dataSource.matches(source))) return
    const known = steps.flatMap(({ dataSource }) => dataSource?.patterns ?? [])
    const near = nearestName(source, known)
    const hint = near ? `; did you mean '${near}'?` : ` (they know ${known.join(', ')})`
    this.#findings.add('unknown-data-source', `data_source '${source}' fits no step${hint}`, place)
  }

  end(): void {
    for (const [column, rows] of this.#missing) {
      const where = rows.length === this.#rows ? 'the column is missing' : 'some rows lack it'
      this.#findings.addMany('missing-column', `${column}: ${where}`, { rows, count: rows.length })
    }
  }
}
