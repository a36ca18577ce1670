import type { BarSeriesOption, EChartsOption, LineSeriesOption } from 'echarts'
import type { Analysis } from '../analysis/analysis.ts'
import type { Distribution } from '../analysis/distributions.ts'
import type { Chart } from './chart.ts'
import {
  acrossNames,
  acrossNumbers,
  ink,
  percentTick,
  plotLabel,
  seriesColor,
  tick,
  upwards,
} from './chart.ts'
import { runNames } from './training-sheet.ts'

/** The plots of scored files. Each is half as wide as the sheet. Plots without data are left out. */
export function rewardCharts(analysis: Analysis): readonly Chart[] {
  const names = runNames(analysis.files.map((file) => ({ file })))
  const terms = [...new Set(analysis.terms.map(({ name }) => name))]
  return [
    distributionChart('Reward', analysis.rewards, names),
    ...(terms.length > 1 ? terms : []).map((term) =>
      distributionChart(
        `Term ${plotLabel(term)}`,
        analysis.terms.filter(({ name }) => name === term),
        names,
      ),
    ),
    passChart(analysis, names),
    shareChart(analysis, names),
    lengthChart(analysis, names),
    ...stepCharts(analysis, names),
  ].filter((chart) => chart !== null)
}

const width = 690
const sides = [80, 30] as const
const plotWidth = width - sides[0] - sides[1]
const legendWidth = 600
const longestName = 28

type Drawn = LineSeriesOption | BarSeriesOption

function chart(
  title: string,
  note: string,
  series: readonly Drawn[],
  axes: Pick<EChartsOption, 'xAxis' | 'yAxis'>,
  files = 1,
): Chart | null {
  if (series.every(({ data }) => (data?.length ?? 0) === 0)) return null
  const isOne = series.length === 1 && files === 1
  return {
    title,
    note,
    width,
    height: 380,
    option: {
      title: { text: title, left: 'center', top: 12, textStyle: { fontSize: 15, color: ink } },
      legend: {
        show: !isOne,
        top: 40,
        width: legendWidth,
        itemGap: 28,
        textStyle: { color: ink, fontSize: 12 },
      },
      grid: {
        left: sides[0],
        right: sides[1],
        top: isOne ? 60 : 60 + 22 * legendRows(series),
        bottom: 60,
        outerBoundsMode: 'none',
      },
      ...axes,
      series: [...series],
    },
  }
}

/** Estimates the number of rows in the legend. */
const legendRows = (series: readonly Drawn[]): number =>
  Math.ceil(series.reduce((total, { name }) => total + 7 * String(name).length + 60, 0) / legendWidth)

const bar = { type: 'bar', barGap: '0%', barCategoryGap: '12%' } as const

function distributionChart(
  title: string,
  all: readonly Distribution[],
  names: readonly string[],
): Chart | null {
  const range = all.find((one) => one.range !== null)?.range
  if (!range) return null
  const [low, high] = range
  const bins = all[0]?.histogram.length ?? 1
  const isPoint = low === high
  const series = all.map(({ file, histogram, scored }) => ({
    ...bar,
    name: names[file] ?? '',
    color: seriesColor(file),
    barWidth: (plotWidth / bins / all.length) * 0.9,
    data: histogram.map((rows, at) => [
      isPoint ? low : low + ((high - low) * (at + 0.5)) / bins,
      scored === 0 || (isPoint && at > 0) ? 0 : rows / scored,
    ]),
  }))
  return chart(
    `${title}: distribution`,
    `Share of the scored rows in ${bins} equal bins.`,
    series,
    {
      xAxis: acrossNumbers('score', { ends: isPoint ? [low - 0.5, high + 0.5] : [low, high] }),
      yAxis: upwards('share of rows', { format: percentTick, from0: true }),
    },
    names.length,
  )
}

function passChart({ sources }: Analysis, names: readonly string[]): Chart | null {
  const passing = sources.filter(({ groups }) => groups !== null)
  const several = new Set(passing.map(({ source }) => source)).size > 1
  const ks = [...new Set(passing.flatMap(({ groups }) => Object.keys(groups?.passAtK ?? {})))]
    .map(Number)
    .sort((a, b) => a - b)
  const series = passing.slice(0, 8).map(({ file, source, groups }, at) => ({
    type: 'line' as const,
    name:
      names.length > 1 || !several
        ? [names[file], several ? plotLabel(source, longestName) : ''].filter(Boolean).join(': ')
        : plotLabel(source, longestName),
    color: seriesColor(at),
    symbol: 'circle',
    symbolSize: 7,
    data: ks.map((k) => groups?.passAtK[k] ?? null),
  }))
  return chart(
    'pass@k',
    'Chance that one of k answers is solved, unbiased from all answers of a group; the first eight data sources.',
    series,
    {
      xAxis: acrossNames('k', ks.map(String)),
      yAxis: upwards('solved', { format: percentTick, from0: true }),
    },
  )
}

function shareChart({ shares }: Analysis, names: readonly string[]): Chart | null {
  const bins = ['none', ...Array.from({ length: 10 }, (_, at) => `${at * 10}-${at * 10 + 10}`), 'all']
  const series = shares.map(({ file, groups }) => {
    const count = groups.reduce((a, b) => a + b, 0)
    return {
      ...bar,
      name: names[file] ?? '',
      color: seriesColor(file),
      data: groups.map((number) => number / count),
    }
  })
  return chart(
    'Groups by the share of solved answers',
    'Groups at the two ends teach a group-relative policy nothing.',
    series,
    {
      xAxis: acrossNames('solved answers of a group, %', bins),
      yAxis: upwards('share of groups', { format: percentTick, from0: true }),
    },
  )
}

function lengthChart({ lengths }: Analysis, names: readonly string[]): Chart | null {
  const series = names.map((name, file) => ({
    type: 'line' as const,
    name,
    color: seriesColor(file),
    symbol: 'circle',
    symbolSize: 7,
    data: lengths
      .filter((one) => one.file === file)
      .map(({ meanLength, meanReward }) => [meanLength, meanReward]),
  }))
  return chart(
    'Reward by response length',
    'Mean reward of each tenth of the rows, by rising length.',
    series,
    {
      xAxis: acrossNumbers('characters of the response, mean of a tenth'),
      yAxis: upwards('mean reward', { format: tick }),
    },
  )
}

function stepCharts({ steps, files }: Analysis, names: readonly string[]): readonly (Chart | null)[] {
  const keys = [...new Set(steps.map(({ file, source }) => `${file} ${source}`))].slice(0, 8)
  if (keys.length === 0) return []
  const measures = [
    ['mean', 'Mean reward by training step', 'mean reward', tick],
    ['accuracy', 'Accuracy by training step', 'accuracy', percentTick],
    ['within', 'Group variance by training step', 'group variance', tick],
  ] as const
  return measures.map(([key, title, axis, format]) =>
    chart(
      title,
      'From rows that tell their training step; the first eight data sources.',
      keys.map((own, at) => {
        const rows = steps.filter(({ file, source }) => `${file} ${source}` === own)
        const { file = 0, source = '' } = rows[0] ?? {}
        return {
          type: 'line' as const,
          name: [files.length > 1 ? names[file] : '', plotLabel(source, longestName) || '-']
            .filter(Boolean)
            .join(': '),
          color: seriesColor(at),
          showSymbol: rows.length < 50,
          symbol: 'circle',
          sampling: 'lttb' as const,
          data: rows.flatMap((row) => (row[key] === null ? [] : [[row.step, row[key]]])),
        }
      }),
      {
        xAxis: acrossNumbers('training step', { ends: ['dataMin', 'dataMax'] }),
        yAxis: upwards(axis, { format }),
      },
    ),
  )
}
