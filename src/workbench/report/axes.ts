import type { XAXisComponentOption, YAXisComponentOption } from 'echarts'
import { faint, ink } from './palette.ts'

const label = { color: ink, fontSize: 12, hideOverlap: true }
const line = { show: true, lineStyle: { color: '#999' } }

interface AcrossOptions {
  readonly gridIndex?: number
  /** Where it begins and ends; absent: at round numbers around the data. */
  readonly ends?: readonly [low: number | 'dataMin', high: number | 'dataMax']
}

/** A horizontal axis of numbers. */
export const acrossNumbers = (
  name: string,
  { gridIndex = 0, ends }: AcrossOptions = {},
): XAXisComponentOption => ({
  type: 'value',
  name,
  gridIndex,
  nameLocation: 'middle',
  nameGap: 30,
  nameTextStyle: { color: ink, fontSize: 13 },
  scale: true,
  ...(ends && { min: ends[0], max: ends[1] }),
  axisLabel: { ...label, formatter: tick },
  axisLine: { ...line, onZero: false },
  splitLine: { lineStyle: { color: faint } },
})

/** A horizontal axis of named bins. */
export const acrossNames = (name: string, names: readonly string[]): XAXisComponentOption => ({
  type: 'category',
  data: [...names],
  name,
  nameLocation: 'middle',
  nameGap: 30,
  nameTextStyle: { color: ink, fontSize: 13 },
  axisLabel: { ...label, ...(names.length <= 12 && { interval: 0 }) },
  axisTick: { show: false },
  axisLine: { ...line, onZero: false },
})

interface UpwardsOptions {
  readonly gridIndex?: number
  readonly color?: string
  readonly right?: boolean
  readonly format?: (value: number) => string
  /** Begins at 0, else near the least value. */
  readonly from0?: boolean
}

/** A vertical axis; `color` ties it to its line where there are two. */
export const upwards = (
  name: string,
  { gridIndex = 0, color = ink, right = false, format = tick, from0 = false }: UpwardsOptions = {},
): YAXisComponentOption => ({
  type: 'value',
  name,
  gridIndex,
  position: right ? 'right' : 'left',
  nameLocation: 'middle',
  nameGap: 52,
  nameRotate: right ? -90 : 90,
  nameTextStyle: { color, fontSize: 13 },
  scale: !from0,
  axisLabel: { ...label, color, formatter: (value: number) => format(value) },
  axisLine: line,
  splitLine: { show: !right, lineStyle: { color: faint } },
})

/** A number as an axis shows it: as few digits as tell it from its neighbours. */
export function tick(value: number): string {
  return String(Number(value.toPrecision(4)))
}

/** A share as an axis shows it. */
export const percentTick = (value: number): string => `${tick(value * 100)} %`
