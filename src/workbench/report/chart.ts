import type { EChartsOption } from 'echarts'
import { openECharts } from './packages.ts'

/** A plot to be drawn; sizes in pixels of the SVG. */
export interface Chart {
  readonly title: string
  /** What it shows and how to read it. */
  readonly note: string
  readonly width: number
  readonly height: number
  readonly option: EChartsOption
}

/** A plot as an SVG document of its own, without references. */
export interface Drawing extends Omit<Chart, 'option'> {
  readonly svg: string
}

const base: EChartsOption = {
  animation: false,
  backgroundColor: '#fff',
  textStyle: { fontFamily: 'Arial, Helvetica, sans-serif' },
}

/** Draws on no screen, by ECharts, which is loaded here and nowhere else. */
export async function drawn(charts: readonly Chart[]): Promise<readonly Drawing[]> {
  if (charts.length === 0) return []
  const { init } = await openECharts()
  return charts.map(({ option, ...chart }) => {
    const { width, height } = chart
    const drawing = init(null, null, { renderer: 'svg', ssr: true, width, height })
    try {
      drawing.setOption({ ...base, ...option })
      return { ...chart, svg: drawing.renderToSVGString() }
    } finally {
      // One that is left open keeps the process alive.
      drawing.dispose()
    }
  })
}
