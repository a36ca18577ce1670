/** Slots without a value that a line goes over. */
export const mostMissing = 3

/** Means over time as a line; breaks where there is nothing for long. */
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
  let last = Number.NEGATIVE_INFINITY
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    // A lone value would be a line of no length.
    line += `${at - last <= mostMissing + 1 ? 'L' : 'M'}${(at * step).toFixed(1)} ${y(value)}h.01`
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
    </svg>
  )
}
