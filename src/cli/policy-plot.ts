import type { Estimate } from '../analysis/estimates.ts'

/** One estimate of a plot; `series` chooses its colour. */
export interface PlotLine {
  readonly label: string
  readonly series: number
  readonly estimate: Estimate
}

const colors = ['#1f77b4', '#d62728', '#2ca02c', '#9467bd', '#ff7f0e', '#17becf']
const [width, left, right, top, bottom, rowHeight] = [720, 260, 24, 34, 26, 22]

/** Points with their 95 % intervals, one below the other, as an SVG of its own; '' where none has a value. */
export function forestPlot(title: string, all: readonly PlotLine[], withZero: boolean): string {
  const lines = all.filter(({ estimate }) => estimate.value !== null)
  const ends = lines.flatMap(({ estimate: { value, interval } }) => [value ?? 0, ...(interval ?? [])])
  if (ends.length === 0) return ''
  if (withZero) ends.push(0)
  const [least, most] = [ends.reduce((a, b) => Math.min(a, b)), ends.reduce((a, b) => Math.max(a, b))]
  const margin = (most - least) * 0.04 || 0.5
  const [low, high] = [least - margin, most + margin]
  const x = (value: number) => round(left + ((value - low) / (high - low)) * (width - left - right))
  const height = top + rowHeight * lines.length + bottom
  const floor = height - bottom
  const ticks = [0, 1, 2, 3, 4].map((step) => low + margin + ((high - low - 2 * margin) * step) / 4)
  const grid = ticks.map(
    (tick) =>
      `<line x1="${x(tick)}" x2="${x(tick)}" y1="${top}" y2="${floor}" stroke="#e3e6ea"/><text x="${x(tick)}" y="${floor + 16}" text-anchor="middle">${Number(tick.toPrecision(3))}</text>`,
  )
  const zero = withZero ? `<line x1="${x(0)}" x2="${x(0)}" y1="${top}" y2="${floor}" stroke="#888"/>` : ''
  const drawn = lines.map(({ label, series, estimate: { value, interval } }, at) => {
    const y = top + rowHeight * (at + 0.5)
    const color = colors[series % colors.length] ?? '#555'
    const bar = interval
      ? `<line x1="${x(interval[0])}" x2="${x(interval[1])}" y1="${y}" y2="${y}" stroke="${color}" stroke-width="2"/>`
      : ''
    const name = [...label].length > 38 ? `${[...label].slice(0, 37).join('')}…` : label
    return `<text x="${left - 10}" y="${y + 4}" text-anchor="end">${escaped(name)}</text>${bar}<circle cx="${x(value ?? 0)}" cy="${y}" r="4" fill="${color}"/>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(title)}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Arial,sans-serif" font-size="12" fill="#333"><text x="${width / 2}" y="18" text-anchor="middle" font-size="14">${escaped(title)}</text>${grid.join('')}${zero}${drawn.join('')}</svg>`
}

const round = (value: number): number => Math.round(value * 10) / 10

/** Text as HTML and SVG show it. */
export const escaped = (text: string): string =>
  text.replace(/\p{Cc}/gu, '\ufffd').replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
