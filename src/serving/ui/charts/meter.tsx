/** How much of a limit is taken. */
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
