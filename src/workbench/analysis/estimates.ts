import {
  type BootstrapOptions,
  bootstrapInterval,
  bootstrapMeans,
  type Interval,
  wilson,
} from '../../core/statistics/intervals.ts'
import { byFigure, clustersOf, type FigureColumns, meansOf } from './figure-columns.ts'
import { type FigureName, figureNames, shares } from './prompt-figures.ts'

/** A figure with its 95 % interval; null where nothing can be said. */
export interface Estimate {
  readonly value: number | null
  readonly interval: Interval | null
}

/** Estimates of all figures, and what the intervals were read from. */
export interface Estimates {
  readonly figures: Readonly<Record<FigureName, Estimate>>
  readonly means: Readonly<Record<FigureName, Float64Array>>
  readonly units: number
}

/** Of a policy's figures, or of the differences of two policies (`isDifference`). */
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

/** The estimates of several parts as one: the mean of the parts, whatever their sizes. */
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

/** Prompts that are all alike tell nothing to the bootstrap: a share then has Wilson's interval, another figure none. */
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
