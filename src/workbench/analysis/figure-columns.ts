import type { Clusters } from '../../core/statistics/intervals.ts'
import type { AnsweredPrompt } from './answered-prompts.ts'
import { type FigureName, type FigureOptions, figureNames, figuresOf } from './prompt-figures.ts'

/** Prompts with a value, or none, for each figure. */
export interface FigureColumns {
  readonly prompts: readonly Pick<AnsweredPrompt, 'key' | 'cluster'>[]
  readonly columns: Readonly<Record<FigureName, readonly (number | null)[]>>
}

/** The figures of prompts, all runs together or of one. */
export function columnsOf(
  prompts: readonly AnsweredPrompt[],
  options: FigureOptions,
  run: number | null = null,
): FigureColumns {
  const rows = prompts.map(({ answers }) =>
    figuresOf(run === null ? answers : answers.filter((answer) => answer.run === run), options),
  )
  return { prompts, columns: byFigure((figure) => rows.map((row) => row[figure])) }
}

/** Second minus first on the prompts that both have, paired by their keys; in the order of the first. */
export function differenceOf(first: FigureColumns, second: FigureColumns): FigureColumns {
  const placeOf = new Map(second.prompts.map(({ key }, at) => [key, at]))
  const pairs = first.prompts.flatMap(({ key }, at) => {
    const other = placeOf.get(key)
    return other === undefined ? [] : [[at, other] as const]
  })
  const minus = (figure: FigureName) =>
    pairs.map(([at, other]) => {
      const [a, b] = [first.columns[figure][at] ?? null, second.columns[figure][other] ?? null]
      return a === null || b === null ? null : b - a
    })
  return {
    prompts: pairs.flatMap(([at]) => first.prompts[at] ?? []),
    columns: byFigure(minus),
  }
}

/** The mean of each figure over its prompts; null where none has a value. */
export function meansOf({ columns }: FigureColumns): Readonly<Record<FigureName, number | null>> {
  return byFigure((figure) => {
    const known = columns[figure].filter((value) => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
  })
}

/** Prompts as units of the bootstrap: those with the same text are one. */
export function clustersOf({ prompts, columns }: FigureColumns): Clusters & { readonly units: number } {
  const unitOf = new Map<string, number>()
  for (const { cluster } of prompts) if (!unitOf.has(cluster)) unitOf.set(cluster, unitOf.size)
  const units = unitOf.size
  const sums = figureNames.map(() => new Float64Array(units))
  const counts = figureNames.map(() => new Float64Array(units))
  for (const [at, figure] of figureNames.entries()) {
    const [sum, count] = [sums[at] as Float64Array, counts[at] as Float64Array]
    for (const [row, { cluster }] of prompts.entries()) {
      const value = columns[figure][row] ?? null
      if (value === null) continue
      const unit = unitOf.get(cluster) ?? 0
      sum[unit] = (sum[unit] as number) + value
      count[unit] = (count[unit] as number) + 1
    }
  }
  return { sums, counts, units }
}

/** A record with an entry for every figure. */
export const byFigure = <T>(of: (figure: FigureName) => T): Readonly<Record<FigureName, T>> =>
  Object.fromEntries(figureNames.map((figure) => [figure, of(figure)])) as Record<FigureName, T>
