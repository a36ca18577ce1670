import type { ShownPoint } from '../../telemetry/live/shown-series.ts'
import { figure, shortTime } from '../format.ts'
import { mostMissing } from './spark-line.tsx'

const bins = 20
const levels = [0.02, 0.1, 0.25, 0.5, 1]

/** How values were distributed over time: a column a slot, darker where more values lie, with the mean as a line. */
export function Distribution(props: {
  readonly slots: readonly (ShownPoint | null)[]
  readonly range: readonly [number, number]
  readonly from: number
  readonly label: string
}) {
  const { slots, range, from, label } = props
  const [low, high] = range
  const width = slots.length
  const cells = levels.map(() => '')
  let line = ''
  let last = Number.NEGATIVE_INFINITY
  for (const [x, slot] of slots.entries()) {
    if (!slot) continue
    const [, n, sum, counts] = slot
    for (let at = 0; at < counts.length; at += 2) {
      const share = (counts[at + 1] ?? 0) / n
      const level = levels.findIndex((most) => share <= most)
      cells[level] += `M${x} ${bins - 1 - (counts[at] ?? 0)}h1v1h-1z`
    }
    const y = bins - ((sum / n - low) / (high - low)) * bins
    line += `${x - last <= mostMissing + 1 ? 'L' : 'M'}${x + 0.5} ${Math.min(bins, Math.max(0, y)).toFixed(2)}h.01`
    last = x
  }
  return (
    <figure class="distribution">
      <div class="scale" aria-hidden="true">
        <span>{figure(high)}</span>
        <span>{figure((low + high) / 2)}</span>
        <span>{figure(low)}</span>
      </div>
      <svg viewBox={`0 0 ${width} ${bins}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {cells.map((cell, level) => (
          <path class={`cell level-${level}`} d={cell} />
        ))}
        <path class="line" d={line} />
      </svg>
      <div class="times" aria-hidden="true">
        <span>{shortTime(from)}</span>
        <span>now</span>
      </div>
    </figure>
  )
}
