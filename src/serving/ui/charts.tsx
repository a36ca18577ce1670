import type { ComponentChildren } from 'preact'
import type { ShownPoint } from '../telemetry/live/series.ts'
import { clockTime, figure, shortTime } from './format.ts'

const bins = 20
const levels = [0.02, 0.1, 0.25, 0.5, 1]
/** Places of the labels along an axis, as shares of its length. */
const ticks = [0, 0.25, 0.5, 0.75, 1]

/** A heat map of values over time: one column per slot, darker where more values are, with the mean as a line. */
export function Distribution(props: {
  readonly slots: readonly (ShownPoint | null)[]
  readonly range: readonly [number, number]
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  readonly label: string
}) {
  const { slots, range, from, to, label } = props
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
    line += `${x - last <= maxMissing + 1 ? 'L' : 'M'}${x + 0.5} ${Math.min(bins, Math.max(0, y)).toFixed(2)}h.01`
    last = x
  }
  const timeOf = to - from < withSeconds ? clockTime : shortTime
  const grid = [1, 2, 3].map((at) => `M0 ${(at * bins) / 4}H${width}`).join('')
  return (
    <figure class="distribution">
      <div class="scale" aria-hidden="true">
        {ticks.map((share) => (
          <span>{figure(high - share * (high - low))}</span>
        ))}
      </div>
      <svg viewBox={`0 0 ${width} ${bins}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path class="baseline" d={grid} />
        {cells.map((cell, level) => (
          <path class={`cell level-${level}`} d={cell} />
        ))}
        <path class="line halo" d={line} />
        <path class="line" d={line} />
      </svg>
      <div class="times" aria-hidden="true">
        {ticks.map((share) => (
          <span>{share === 1 ? 'now' : timeOf(from + share * (to - from))}</span>
        ))}
      </div>
      <figcaption class="legend">
        <span>
          <i class="line-key" aria-hidden="true" /> mean
        </span>
        <span class="shades">
          Share of the rows of a moment, up to:
          {levels.map((most, level) => (
            <span>
              <i class={`key level-${level}`} aria-hidden="true" /> {100 * most} %
            </span>
          ))}
        </span>
      </figcaption>
    </figure>
  )
}

/** Times of a shorter axis have seconds, in milliseconds. */
const withSeconds = 300_000

/** Empty slots that a line may bridge. */
const maxMissing = 3

/** Values over time as a line, which breaks at longer gaps. */
export function SparkLine(props: {
  readonly values: readonly (number | null)[]
  readonly range: readonly [number, number]
  readonly label: string
  readonly isTall?: boolean
}) {
  const { values, range, label, isTall = false } = props
  const height = isTall ? 96 : 24
  const [low, high] = range[0] < range[1] ? range : [range[0] - 0.5, range[1] + 0.5]
  const step = values.length < 2 ? 0 : 120 / (values.length - 1)
  const y = (value: number) => {
    const share = Math.min(1, Math.max(0, (value - low) / (high - low)))
    return (height - 2 - share * (height - 4)).toFixed(1)
  }
  let line = ''
  let dots = ''
  let last = Number.NEGATIVE_INFINITY
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const place = `${(at * step).toFixed(1)} ${y(value)}`
    const isJoined = at - last <= maxMissing + 1
    line += `${isJoined ? 'L' : 'M'}${place}`
    // A value without neighbours is a dot; its line would have no length.
    const next = values.slice(at + 1, at + maxMissing + 2)
    if (!isJoined && next.every((one) => one === null || one === undefined)) dots += `M${place}h.01`
    last = at
  }
  return (
    <svg
      class={isTall ? 'spark tall' : 'spark'}
      viewBox={`0 0 120 ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="baseline" d={`M0 ${height - 1}H120`} />
      <path class="line" d={line} />
      <path class="line dots" d={dots} />
    </svg>
  )
}

/** What stands at the two ends of a small chart's axis. */
export function Ranged(props: {
  readonly range: readonly [number, number]
  readonly children: ComponentChildren
}) {
  return (
    <span class="ranged">
      <span aria-hidden="true">{figure(props.range[0])}</span>
      {props.children}
      <span aria-hidden="true">{figure(props.range[1])}</span>
    </span>
  )
}

/** Counts of adjacent bins as bars. */
export function Histogram(props: {
  readonly bins: readonly number[]
  readonly label: string
  readonly isTall?: boolean
}) {
  const { bins, label, isTall = false } = props
  const height = isTall ? 72 : 24
  const most = Math.max(...bins, 1)
  const bars = bins
    .map((value, at) => {
      // Bins that are not empty stay visible, however small they are.
      const tall = value === 0 ? 0 : Math.max(1.5, (value / most) * (height - 2))
      return tall === 0 ? '' : `M${at * 6 + 0.5} ${height - 1}v${(-tall).toFixed(1)}h5v${tall.toFixed(1)}z`
    })
    .join('')
  return (
    <svg
      class={isTall ? 'histogram tall' : 'histogram'}
      viewBox={`0 0 ${bins.length * 6} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="baseline" d={`M0 ${height - 0.5}H${bins.length * 6}`} />
      <path class="bars" d={bars} />
    </svg>
  )
}

/** The rewards of a group on the reward's range: one mark per value, taller if several answers share it. */
export function Strip(props: {
  readonly values: readonly number[]
  readonly range: readonly [number, number]
  readonly label: string
}) {
  const { values, range, label } = props
  const [low, high] = range
  const place = (value: number) => (4 + (high > low ? (value - low) / (high - low) : 0.5) * 112).toFixed(1)
  const times = new Map<string, number>()
  for (const value of values) times.set(place(value), (times.get(place(value)) ?? 0) + 1)
  const marks = [...times].map(([x, n]) => `M${x} 15v${(-3 - (11 * n) / values.length).toFixed(1)}`)
  return (
    <svg class="strip" viewBox="0 0 120 16" preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="baseline" d="M2 15.5H118" />
      <path class="marks" d={marks.join('')} />
    </svg>
  )
}

/** How much of a limit is in use. */
export function Meter({
  value,
  limit,
  label,
}: {
  readonly value: number
  readonly limit: number
  readonly label: string
}) {
  const share = limit === 0 ? 0 : Math.min(1, value / limit)
  return (
    <svg
      class={share > 0.9 ? 'meter full' : 'meter'}
      viewBox="0 0 60 6"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="baseline" d="M0 3H60" />
      {share > 0 && <path class="line" d={`M0 3H${(share * 60).toFixed(1)}`} />}
    </svg>
  )
}
