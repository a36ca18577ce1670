import {
  type BootstrapOptions,
  bootstrapInterval,
  bootstrapMeans,
  type Clusters,
  type Interval,
  wilson,
} from '../../core/statistics/intervals.ts'
import {
  type AnsweredPrompt,
  type FigureName,
  type FigureOptions,
  figureNames,
  figuresOf,
  shares,
} from './prompt-figures.ts'

/** A figure with its 95 % interval. null if it cannot be estimated. */
export interface Estimate {
  readonly value: number | null
  readonly interval: Interval | null
}

/** The estimates of all figures, with the bootstrap means behind the intervals. */
export interface Estimates {
  readonly figures: Readonly<Record<FigureName, Estimate>>
  readonly means: Readonly<Record<FigureName, Float64Array>>
  readonly units: number
}

/** Estimates a policy's figures or, with `isDifference`, the differences of two policies. */
export function estimatesOf(
  table: FigureColumns,
  options: BootstrapOptions,
  isDifference = false,
): Estimates {
  const clusters = clustersOf(table)
  const drawn = bootstrapMeans(clusters, options)
  const means = byFigure((figure) => drawn[figureNames.indexOf(figure)] ?? new Float64Array())
  const values = meansOf(table)
  const { units } = clusters
  return {
    figures: byFigure((figure) => ({
      value: values[figure],
      interval: intervalOf(
        figure,
        values[figure],
        bootstrapInterval(means[figure], units),
        units,
        isDifference,
      ),
    })),
    means,
    units,
  }
}

/** Combines parts as the mean over the parts, regardless of their sizes. */
export function averaged(parts: readonly Estimates[], isDifference = false): Estimates {
  const units = parts.reduce((sum, part) => sum + part.units, 0)
  const means = byFigure((figure) =>
    Float64Array.from(parts[0]?.means[figure] ?? [], (_, round) =>
      parts.reduce((sum, part) => sum + (part.means[figure][round] ?? Number.NaN) / parts.length, 0),
    ),
  )
  const meanOf = (figure: FigureName): number | null => {
    const values = parts.map((part) => part.figures[figure].value)
    const known = values.filter((value) => value !== null)
    return known.length < parts.length ? null : known.reduce((sum, value) => sum + value, 0) / parts.length
  }
  return {
    figures: byFigure((figure) => {
      const value = meanOf(figure)
      return {
        value,
        interval: intervalOf(figure, value, bootstrapInterval(means[figure], units), units, isDifference),
      }
    }),
    means,
    units,
  }
}

/**
 * The bootstrap says nothing if all prompts are alike. A share then gets Wilson's interval, other figures
 * none.
 */
function intervalOf(
  figure: FigureName,
  value: number | null,
  drawn: Interval | null,
  units: number,
  isDifference: boolean,
): Interval | null {
  if (value === null || drawn === null) return null
  if (drawn[1] - drawn[0] > 1e-12) return drawn
  if (!shares.has(figure)) return null
  if (!isDifference) return wilson(value * units, units)
  const reach = wilson(0, units)[1]
  return [Math.max(-1, value - reach), Math.min(1, value + reach)]
}

/** A value or null of each figure for each prompt. */
export interface FigureColumns {
  readonly prompts: readonly Pick<AnsweredPrompt, 'key' | 'cluster'>[]
  readonly columns: Readonly<Record<FigureName, readonly (number | null)[]>>
}

/** The figures of each prompt, over all runs or for one run. */
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

/** `second` minus `first` for the prompts that both have, paired by key, in the order of `first`. */
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

/** The mean of each figure over the prompts. null if none has a value. */
export function meansOf({ columns }: FigureColumns): Readonly<Record<FigureName, number | null>> {
  return byFigure((figure) => {
    const known = columns[figure].filter((value) => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
  })
}

/** The units of the bootstrap. Prompts with the same text form one unit. */
function clustersOf({ prompts, columns }: FigureColumns): Clusters & { readonly units: number } {
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

/** Makes a record with an entry for every figure. */
export const byFigure = <T>(of: (figure: FigureName) => T): Readonly<Record<FigureName, T>> =>
  Object.fromEntries(figureNames.map((figure) => [figure, of(figure)])) as Record<FigureName, T>
