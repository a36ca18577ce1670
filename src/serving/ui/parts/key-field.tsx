/** Where a key is typed in, unseen; the browser does not keep it. */
export function KeyField(props: {
  readonly label: string
  readonly value: string
  readonly write: (key: string) => void
}) {
  const { label, value, write } = props
  return (
    <label>
      <span>{label}</span>
      <input
        type="password"
        autocomplete="off"
        required
        value={value}
        onInput={(event) => write(event.currentTarget.value)}
      />
    </label>
  )
}
