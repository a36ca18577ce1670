/** Counts of neighbouring bins as bars. */
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
      // What is there is seen, however rare it is.
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
