import { fixed } from '../analysis/decimals.ts'
import type { Column } from './figure-table.ts'

/** A figure with fixed decimals; `-` where there is none. */
export const numberText = (value: number | null, decimals = 4): string =>
  value === null ? '-' : fixed(value, decimals)

/** A share of 0 to 1 as percent; `-` where there is none. */
export const shareText = (value: number | null): string =>
  value === null ? '-' : `${fixed(value * 100, 2)} %`

/** A column of figures. */
export const figureColumn = (title: string): Column => ({ title, right: true })
