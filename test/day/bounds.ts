/** A line of the table: what must hold, what was measured, and whether it holds. */
export interface Verdict {
  readonly what: string
  readonly bound: string
  readonly measured: string
  /** The same as a number, in the unit of the bound. */
  readonly value: number
  /** null: told, not judged. */
  readonly holds: boolean | null
}

export function atMost(what: string, measured: number, limit: number, unit: string, note = ''): Verdict {
  const shown = (value: number) =>
    Number.isNaN(value) ? 'none' : `${round(value)}${unit === '' || unit === ' times' ? unit : ` ${unit}`}`
  return {
    what,
    bound: `at most ${shown(limit)}`,
    value: measured,
    measured: note === '' ? shown(measured) : `${shown(measured)} (${note})`,
    holds: measured <= limit,
  }
}

/**
 * The same for a time, of which the processes stood in line for a core of a busy machine for `waited`. Where it holds only without
 * that, it is not judged.
 */
export function late(what: string, whole: number, waited: number, limit: number, unit: string): Verdict {
  const verdict = atMost(what, whole, limit, unit, `${round(Math.min(whole, waited))} in line for a core`)
  return { ...verdict, holds: verdict.holds || (whole - waited <= limit ? null : false) }
}

/** For each line the step whose value is the largest. A line that failed in one step has failed, and one that was not judged in one is not judged. */
export function worstOf(steps: readonly (readonly Verdict[])[]): readonly Verdict[] {
  const worst = new Map<string, Verdict>()
  for (const [at, verdicts] of steps.entries())
    for (const verdict of verdicts) {
      const before = worst.get(verdict.what)
      const both = before ? [before.holds, verdict.holds] : [verdict.holds]
      const holds = both.includes(false) ? false : both.includes(null) ? null : true
      const isWorse = !before || verdict.value > before.value || Number.isNaN(verdict.value)
      const shown = isWorse ? { ...verdict, measured: `${verdict.measured}, step ${at + 1}` } : before
      worst.set(verdict.what, { ...shown, holds })
    }
  return [...worst.values()]
}

/** A part of a step is too short to judge this by: most of it is spent by processes that have just begun. */
export const told = (verdict: Verdict): Verdict => ({ ...verdict, holds: null })

export function tableOf(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ what, bound, measured, holds }) => [
    what,
    bound,
    measured,
    holds === null ? 'not judged' : holds ? 'holds' : '**FAILS**',
  ])
  const lines = [['what', 'must be', 'measured', ''], ['---', '---', '---', '---'], ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** NaN of nothing. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
}

/** Of counts by value. */
export function quantileOf(counts: ReadonlyMap<number, number>, q: number): number {
  const sorted = [...counts].sort(([a], [b]) => a - b)
  const all = sorted.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [value, count] of sorted) {
    seen += count
    if (seen > q * all) return value
  }
  return sorted.at(-1)?.[0] ?? Number.NaN
}

const round = (value: number): number =>
  Number(value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2))
