/** The rewards of a group on the reward's range: a mark a value, taller where several answers have it. */
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
