import type { NativeResult } from '../../trainers/native-result.ts'

/** Different causes of one kind that are told apart; what comes beyond is counted together. */
const mostCauses = 6

/** What a summary needs of a result, as it is made or as an earlier run wrote it. */
type Scored = Pick<NativeResult, 'id' | 'reward' | 'valid' | 'failure'>

interface Cause {
  count: number
  readonly kind: string
  /** Of the first row. */
  readonly first: string
}

/** What came of the rows of a file: how many have a reward, its mean, and why others have none. */
export class Losses {
  rows = 0
  lost = 0
  #sum = 0
  readonly #causes = new Map<string, Cause>()
  readonly #causesOfKind = new Map<string, number>()

  add({ id, reward, valid, failure }: Scored): void {
    this.rows++
    if (valid && reward !== null) {
      this.#sum += reward
      return
    }
    this.lost++
    const { kind, detail, step } = failure ?? { kind: 'unknown', detail: 'no failure is told' }
    // Numbers in a detail belong to the row: 'at position 17'.
    const cause = `${kind}\n${step ?? ''}\n${detail.replace(/\d+/g, '#')}`
    const known = this.#causes.get(cause) ?? this.#causes.get(kind)
    if (known) {
      known.count++
      return
    }
    const causes = (this.#causesOfKind.get(kind) ?? 0) + 1
    this.#causesOfKind.set(kind, causes)
    const at = step === undefined ? '' : `, step ${step}`
    const first = `row '${id}'${at}: ${detail}`
    if (causes <= mostCauses) this.#causes.set(cause, { count: 1, kind, first })
    else this.#causes.set(kind, { count: 1, kind: `${kind} for other causes`, first })
  }

  /** Share of the rows that have no reward; 0 where there are no rows. */
  get share(): number {
    return this.rows === 0 ? 0 : this.lost / this.rows
  }

  /** A line a cause, after how many rows there are; '' where every row has a reward. */
  text(): string {
    if (this.lost === 0) return ''
    const lines = [...this.#causes.values()].map(
      ({ kind, count, first }) => `  ${count} ${kind}, first ${first}\n`,
    )
    return `${this.lost} of ${this.rows} rows ${this.lost === 1 ? 'has' : 'have'} no reward:\n${lines.join('')}`
  }

  /** `2,000 rows, 5 invalid, mean 0.7` */
  summary(): string {
    const scored = this.rows - this.lost
    const mean = scored === 0 ? 'no mean' : `mean ${Number((this.#sum / scored).toPrecision(4))}`
    return `${grouped(this.rows)} ${this.rows === 1 ? 'row' : 'rows'}, ${grouped(this.lost)} invalid, ${mean}`
  }
}

const grouped = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')
