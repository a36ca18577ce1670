import { init } from 'echarts'

/** What a soak saw of the gateway at one time. */
export interface Reading {
  readonly minute: number
  readonly rssMib: number
  /** JavaScript's heap, what waits for collection with it. */
  readonly heapMib: number
  readonly descriptors: number
  readonly handles: number
  readonly rows: number
}

/** Memory, descriptors and handles over the minutes, as SVG. */
export function soakPlot(points: readonly Reading[]): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 800, height: 320 })
  const line = (name: string, yAxisIndex: number, value: (reading: Reading) => number) => ({
    name,
    type: 'line' as const,
    yAxisIndex,
    showSymbol: false,
    lineStyle: { width: 1.5 },
    data: points.map((reading) => [reading.minute, value(reading)]),
  })
  chart.setOption({
    backgroundColor: '#fff',
    animation: false,
    legend: {},
    xAxis: {
      type: 'value',
      name: 'minutes',
      nameLocation: 'middle',
      nameGap: 25,
      max: 'dataMax' as const,
    },
    yAxis: [
      { type: 'value', name: 'MiB', min: 0 },
      { type: 'value', name: 'count', min: 0 },
    ],
    series: [
      line('resident memory', 0, ({ rssMib }) => rssMib),
      line('heap', 0, ({ heapMib }) => heapMib),
      line('file descriptors', 1, ({ descriptors }) => descriptors),
      line('handles', 1, ({ handles }) => handles),
    ],
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}
