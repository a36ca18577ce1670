/**
 * An error's name and where it was thrown, outside Node's own code. Not its message, which may quote a sample. Never throws, whatever
 * somebody has thrown.
 */
export function errorPlace(error: unknown): string {
  try {
    if (!(error instanceof Error)) return 'threw a value that is no Error'
    const name = /^[A-Za-z]{1,60}$/.test(error.name) ? error.name : 'Error'
    const place = framesOf(error)
      .filter((line) => !line.includes('node:'))
      .map((line) => /^ {4}at .{0,1000}?\/([^/\s()]{1,200}:\d{1,9}:\d{1,9})\)?$/.exec(line)?.[1])
      .find((one) => one !== undefined)
    return place === undefined ? `threw ${name}` : `threw ${name} at ${place}`
  } catch {
    return 'threw a value that has no text'
  }
}

/** The lines after the message: a line of the message may itself look like a place. Without the message there are none. */
function framesOf({ message, stack }: Error): readonly string[] {
  if (typeof stack !== 'string' || typeof message !== 'string') return []
  const at = stack.indexOf(message)
  return at < 0 ? [] : stack.slice(at + message.length, at + message.length + 20_000).split('\n')
}
