import type { EChartsOption, XAXisComponentOption, YAXisComponentOption } from 'echarts'
import { loadECharts } from '../optional-packages.ts'

/** A plot. Sizes are pixels of the SVG. */
export interface Chart {
  readonly title: string
  /** What the plot shows and how to read it. */
  readonly note: string
  readonly width: number
  readonly height: number
  readonly option: EChartsOption
}

/** A plot as a self-contained SVG document. */
export interface RenderedChart extends Omit<Chart, 'option'> {
  readonly svg: string
}

const base: EChartsOption = {
  animation: false,
  backgroundColor: '#fff',
  textStyle: { fontFamily: 'Arial, Helvetica, sans-serif' },
}

/** Renders plots with ECharts, without a browser. */
export async function renderCharts(charts: readonly Chart[]): Promise<readonly RenderedChart[]> {
  if (charts.length === 0) return []
  const { init } = await loadECharts()
  return charts.map(({ option, ...chart }) => {
    const { width, height } = chart
    const drawing = init(null, null, { renderer: 'svg', ssr: true, width, height })
    try {
      drawing.setOption({ ...base, ...option })
      return { ...chart, svg: drawing.renderToSVGString() }
    } finally {
      // A chart that is not disposed keeps the process alive.
      drawing.dispose()
    }
  })
}

/** The colours of the published sheet. */
export const measures = {
  accuracy: '#1f77b4',
  reward: '#2ca02c',
  smoothed: '#d62728',
  gradient: '#9467bd',
  entropy: '#ff7f0e',
} as const

const series = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf', '#8c564b', '#e377c2']

/** The colour of the n-th file or run. Colours repeat after eight. */
export const seriesColor = (at: number): string => series[at % series.length] ?? '#555'

/** The colour of text. */
export const ink = '#333'
/** The colour of grid lines. */
export const faint = '#e3e6ea'

/** Makes a text from a file fit into a plot: one line of at most `most` characters. */
export function plotLabel(text: string, most = 40): string {
  const letters = [...text.replace(/[\p{C}\s]+/gu, ' ')]
  return letters.length > most ? `…${letters.slice(1 - most).join('')}` : letters.join('')
}

const label = { color: ink, fontSize: 12, hideOverlap: true }
const line = { show: true, lineStyle: { color: '#999' } }

interface AcrossOptions {
  readonly gridIndex?: number
  /** The ends of the axis. By default, round numbers around the data. */
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
  /** Starts at 0. By default, the axis starts near the smallest value. */
  readonly from0?: boolean
}

/** A vertical axis. If there are two, `color` shows which line each belongs to. */
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

/** Formats a number with four significant digits. */
export function tick(value: number): string {
  return String(Number(value.toPrecision(4)))
}

/** Formats a share as percent. */
export const percentTick = (value: number): string => `${tick(value * 100)} %`
