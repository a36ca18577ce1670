import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemReturn } from 'echarts'
import type { Estimate } from '../analysis/estimates.ts'
import type { Part } from '../analysis/policy-comparison.ts'
import type { FigureName } from '../analysis/prompt-figures.ts'
import type { Chart } from './chart.ts'
import { acrossNumbers, faint, ink, plotLabel, seriesColor } from './chart.ts'
import { commonK, figuresIn, figureTitle, partTitle } from './policy-tables.ts'

/** The maximum number of parts in a plot. The tables list all of them. */
const mostParts = 24
const [width, rowHeight, labelWidth] = [690, 22, 220]

interface Line {
  readonly label: string
  readonly color: string
  readonly estimate: Estimate
}

/**
 * Plots the figures with their intervals, and the differences from the first policy. Figures without a value
 * are left out.
 */
export function policyCharts(parts: readonly Part[], names: readonly string[]): readonly Chart[] {
  const shown = parts.slice(0, mostParts)
  const k = commonK(shown)
  const of = (figure: FigureName) => shown.filter((part) => figuresIn(part).includes(figure))
  const own = (['mean', 'pass1', 'passK'] as const).map((figure) =>
    forest(
      figureTitle(figure, k),
      'Each policy with its 95 % interval.',
      of(figure).flatMap((part) =>
        part.policies.map((policy, at) => ({
          label: names.length > 1 ? `${partTitle(part)}, ${names[at]}` : partTitle(part),
          color: seriesColor(at),
          estimate: policy.figures[figure],
        })),
      ),
    ),
  )
  const gaps = (['mean', 'pass1', 'passK'] as const).map((figure) =>
    forest(
      `${figureTitle(figure, k)}: difference from ${plotLabel(names[0] ?? '')}`,
      'Row by row, with 95 % intervals; right of 0 is better than the first policy.',
      of(figure).flatMap((part) =>
        part.differences.map(({ figures }, at) => ({
          label: names.length > 2 ? `${partTitle(part)}, ${names[at + 1]}` : partTitle(part),
          color: seriesColor(at + 1),
          estimate: figures[figure],
        })),
      ),
      true,
    ),
  )
  return [...own, ...gaps].filter((chart) => chart !== null)
}

/** A forest plot: one line for each point and its interval, from top to bottom. */
function forest(title: string, note: string, all: readonly Line[], fromZero = false): Chart | null {
  const lines = all.filter(({ estimate }) => estimate.value !== null)
  if (lines.length === 0) return null
  const points = lines.map(({ estimate: { value, interval } }, at) => [
    value ?? 0,
    at,
    ...(interval ?? [value, value]),
  ])
  return {
    title,
    note,
    width,
    height: 110 + rowHeight * lines.length,
    option: {
      title: { text: title, left: 'center', top: 12, textStyle: { fontSize: 15, color: ink } },
      grid: { left: labelWidth, right: 30, top: 50, bottom: 60, outerBoundsMode: 'none' },
      xAxis: acrossNumbers(title),
      yAxis: {
        type: 'category',
        inverse: true,
        data: lines.map(({ label }) => plotLabel(label, 34)),
        axisLabel: { color: ink, fontSize: 12, interval: 0 },
        axisTick: { show: false },
        axisLine: { show: false },
        splitLine: { show: true, lineStyle: { color: faint } },
      },
      series: [
        {
          type: 'custom',
          data: points,
          encode: { x: [0, 2, 3], y: 1 },
          renderItem: ({ dataIndex }, api) => bracket(api, lines[dataIndex]?.color ?? ink),
          ...(fromZero && {
            markLine: {
              symbol: 'none',
              silent: true,
              label: { show: false },
              lineStyle: { color: '#999' },
              data: [{ xAxis: 0 }],
            },
          }),
        },
      ],
    },
  }
}

function bracket(api: CustomSeriesRenderItemAPI, color: string): CustomSeriesRenderItemReturn {
  const row = api.value(1)
  const at = (dimension: number) => api.coord([api.value(dimension), row])
  const [[x = 0, y = 0], [low = 0], [high = 0]] = [at(0), at(2), at(3)]
  const line = (x1: number, y1: number, x2: number, y2: number) =>
    ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke: color, lineWidth: 2 } }) as const
  return {
    type: 'group',
    children: [
      line(low, y, high, y),
      line(low, y - 4, low, y + 4),
      line(high, y - 4, high, y + 4),
      { type: 'circle', shape: { cx: x, cy: y, r: 4 }, style: { fill: color } },
    ],
  }
}
