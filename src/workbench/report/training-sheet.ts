import { basename } from 'node:path'
import type { EChartsOption, LegendComponentOption, LineSeriesOption, TitleComponentOption } from 'echarts'
import type { Series } from '../analysis/training-log.ts'
import type { TrainingRun } from '../analysis/training-run.ts'
import { movingAverage } from '../analysis/training-summary.ts'
import type { Chart } from './chart.ts'
import { acrossNumbers, ink, measures, plotLabel, seriesColor, tick, upwards } from './chart.ts'

const [width, height] = [1400, 1000]
const smoothing = 10

/** A line of a panel. `axis` selects the panel's right axis. */
interface Line {
  readonly name: string
  readonly data: Series
  readonly color: string
  readonly axis?: 'right'
  readonly look?: 'faint' | 'bold' | 'marked' | 'dashed'
}

interface Panel {
  readonly title: string
  readonly left: string
  readonly right?: string
  readonly lines: readonly Line[]
}

/**
 * Draws the published 2 x 2 sheet: accuracy, reward with its moving average, both together, gradient norm
 * with entropy. Several runs share the panels in different colours, and lines of the right axis are dashed.
 */
export function trainingSheet(runs: readonly TrainingRun[]): Chart {
  const names = runNames(runs)
  const panels = runs.length === 1 && runs[0] ? panelsOfOne(runs[0]) : panelsOfSeveral(runs, names)
  const places = panels.map((_, at) => ({
    left: 85 + (at % 2) * 700,
    top: (runs.length > 1 ? 95 : 70) + Math.floor(at / 2) * 485,
    width: 530,
    height: 345,
  }))
  const option: EChartsOption = {
    title: panels.map(({ title }, at) => titleAt(title, places[at])),
    grid: places.map((place) => ({ ...place, outerBoundsMode: 'none' as const })),
    legend:
      runs.length > 1
        ? [runLegend(names)]
        : panels.map(({ lines }, at) => panelLegend(lines, at, places[at])),
    xAxis: panels.map((_, at) =>
      acrossNumbers('training step', { gridIndex: at, ends: ['dataMin', 'dataMax'] }),
    ),
    yAxis: panels.flatMap((panel, at) => axesOf(panel, at, runs.length > 1)),
    series: panels.flatMap(({ lines }, at) =>
      lines.filter(({ data }) => data.length > 0).map((line) => drawnLine(line, at)),
    ),
    graphic: panels.flatMap(({ lines }, at) =>
      lines.some(({ data }) => data.length > 0) ? [] : [emptyNote(places[at])],
    ),
  }
  return {
    title: 'Training',
    note: `Validation accuracy, training reward with its moving average over ${smoothing} points, both together, gradient norm and entropy, by training step.`,
    width,
    height,
    option,
  }
}

/** The file names, or paths where two names are equal. */
export function runNames(runs: readonly { readonly file: string }[]): readonly string[] {
  const short = runs.map(({ file }) => plotLabel(basename(file)))
  return short.map((name, at) => {
    const path = plotLabel(runs[at]?.file ?? '')
    if (short.filter((other) => other === name).length === 1) return name
    return runs.filter(({ file }) => plotLabel(file) === path).length === 1 ? path : `${at + 1}: ${path}`
  })
}

function panelsOfOne({ metrics }: TrainingRun): readonly Panel[] {
  const { test_score = [], train_reward = [], grad_norm = [], entropy_loss = [] } = metrics
  const smoothed = movingAverage(train_reward, smoothing)
  const { accuracy, reward, gradient, entropy } = measures
  return [
    {
      title: 'Validation accuracy',
      left: 'accuracy',
      lines: [{ name: 'accuracy', data: test_score, color: accuracy, look: 'marked' }],
    },
    {
      title: 'Training reward',
      left: 'reward',
      lines: [
        { name: 'reward', data: train_reward, color: reward, look: 'faint' },
        { name: `moving average (${smoothing})`, data: smoothed, color: reward, look: 'bold' },
      ],
    },
    {
      title: 'Accuracy and training reward',
      left: 'accuracy',
      right: 'reward, smoothed',
      lines: [
        { name: 'accuracy', data: test_score, color: accuracy, look: 'marked' },
        { name: 'reward, smoothed', data: smoothed, color: measures.smoothed, axis: 'right' },
      ],
    },
    {
      title: 'Gradient norm and entropy',
      left: 'gradient norm',
      right: 'entropy',
      lines: [
        { name: 'gradient norm', data: grad_norm, color: gradient },
        { name: 'entropy', data: entropy_loss, color: entropy, axis: 'right' },
      ],
    },
  ]
}

function panelsOfSeveral(runs: readonly TrainingRun[], names: readonly string[]): readonly Panel[] {
  const lines = (key: keyof TrainingRun['metrics'], more: Partial<Line>, smooth = false): readonly Line[] =>
    runs.map(({ metrics }, at) => ({
      name: names[at] ?? '',
      data: smooth ? movingAverage(metrics[key] ?? [], smoothing) : (metrics[key] ?? []),
      color: seriesColor(at),
      ...more,
    }))
  return [
    { title: 'Validation accuracy', left: 'accuracy', lines: lines('test_score', { look: 'marked' }) },
    {
      title: `Training reward and its moving average (${smoothing})`,
      left: 'reward',
      lines: [...lines('train_reward', { look: 'faint' }), ...lines('train_reward', { look: 'bold' }, true)],
    },
    {
      title: 'Accuracy (solid) and smoothed reward (dashed)',
      left: 'accuracy',
      right: 'reward, smoothed',
      lines: [
        ...lines('test_score', { look: 'marked' }),
        ...lines('train_reward', { axis: 'right', look: 'dashed' }, true),
      ],
    },
    {
      title: 'Gradient norm (solid) and entropy (dashed)',
      left: 'gradient norm',
      right: 'entropy',
      lines: [...lines('grad_norm', {}), ...lines('entropy_loss', { axis: 'right', look: 'dashed' })],
    },
  ]
}

/** Every panel has two vertical axes. The left one has the index 2 * panel. */
function axesOf({ left, right, lines }: Panel, gridIndex: number, plain: boolean) {
  const colorOf = (axis: 'right' | undefined) =>
    (!plain && right !== undefined && lines.find((line) => line.axis === axis)?.color) || ink
  return [
    upwards(left, { gridIndex, color: colorOf(undefined), format: tick }),
    {
      ...upwards(right ?? '', { gridIndex, color: colorOf('right'), right: true, format: tick }),
      show: right !== undefined,
    },
  ]
}

function drawnLine({ name, data, color, axis, look }: Line, panel: number): LineSeriesOption {
  return {
    type: 'line',
    name,
    data: data.map(([step, value]) => [step, value]),
    xAxisIndex: panel,
    yAxisIndex: panel * 2 + (axis === 'right' ? 1 : 0),
    sampling: 'lttb',
    showSymbol: look === 'marked' || data.length === 1,
    symbol: 'circle',
    symbolSize: 6,
    color,
    lineStyle: {
      color,
      width: look === 'faint' ? 1 : look === 'bold' ? 3 : look === 'marked' ? 2 : 1.5,
      opacity: look === 'faint' ? 0.35 : 1,
      type: look === 'dashed' ? 'dashed' : 'solid',
    },
  }
}

type Place = { readonly left: number; readonly top: number; readonly width: number; readonly height: number }

const titleAt = (text: string, place: Place | undefined): TitleComponentOption => ({
  text,
  left: (place?.left ?? 0) + (place?.width ?? 0) / 2,
  top: (place?.top ?? 0) - 42,
  textAlign: 'center',
  textStyle: { fontSize: 16, color: ink },
})

const runLegend = (names: readonly string[]): LegendComponentOption => ({
  top: 10,
  left: 'center',
  width: width - 100,
  data: [...names],
  textStyle: { color: ink, fontSize: 13 },
})

const panelLegend = (
  lines: readonly Line[],
  at: number,
  place: Place | undefined,
): LegendComponentOption => ({
  data: lines.filter(({ data }) => data.length > 0).map(({ name }) => name),
  right: width - ((place?.left ?? 0) + (place?.width ?? 0)) + 10,
  ...(at === 3
    ? { top: (place?.top ?? 0) + 8 }
    : { top: (place?.top ?? 0) + (place?.height ?? 0) - (lines.length > 1 ? 58 : 34) }),
  orient: 'vertical',
  backgroundColor: 'rgba(255,255,255,0.8)',
  textStyle: { color: ink, fontSize: 12 },
})

const emptyNote = (place: Place | undefined) => ({
  type: 'text' as const,
  x: (place?.left ?? 0) + (place?.width ?? 0) / 2,
  y: (place?.top ?? 0) + (place?.height ?? 0) / 2,
  style: { text: 'not in the log', fill: '#777', fontSize: 14, align: 'center' as const },
})
