/** The exception with its stack, truncated for logs. May quote the sample. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? (error.stack ?? error.message) : `thrown: ${String(error)}`
    return text.slice(0, 4000)
  } catch {
    return 'thrown: a value that has no text'
  }
}

/** Why a file did not load: the exception, and the first stack frame outside Node, packages and this package's own code. */
export function loadErrorText(error: unknown): string {
  if (!(error instanceof Error)) return errorText(error)
  const message = error.message.split(/\nRequire stack:/, 1)[0] ?? ''
  const frames = (error.stack ?? '').slice(0, 20_000).split('\n')
  const place = frames
    .filter(
      (frame) => !/node:|node_modules|[\\/]functions[\\/]worker[\\/]|[\\/]contract[\\/]define\./.test(frame),
    )
    .map((frame) => /(?:\/|[A-Z]:\\)[^\s()]+:\d+:\d+/.exec(frame)?.[0])
    .find((one) => one !== undefined)
  const where = place === undefined || message.includes(place) ? '' : ` at ${place}`
  return `${error.name}: ${message}${where}`.slice(0, 4000)
}
