import { fixed } from '../analysis/decimals.ts'

/** A column of a table; figures are set right. */
export interface Column {
  readonly title: string
  readonly right?: boolean
}

/** A table of a report. Cells are plain text, some of it from models and data sets: to be escaped by who shows it. */
export interface FigureTable {
  readonly title: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

/** A figure with fixed decimals; `-` where there is none. */
export const numberText = (value: number | null, decimals = 4): string =>
  value === null ? '-' : fixed(value, decimals)

/** A share of 0 to 1 as percent; `-` where there is none. */
export const shareText = (value: number | null): string =>
  value === null ? '-' : `${fixed(value * 100, 2)} %`

/** A column of figures. */
export const figureColumn = (title: string): Column => ({ title, right: true })
