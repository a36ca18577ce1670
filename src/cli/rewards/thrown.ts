import type { FunctionEvent } from '../../scoring/functions/events.ts'

const mostShown = 3
/** Lines of an error that are shown: JavaScript's begin with the message, Python's end with it. */
const firstLines = 4
const lastLines = 8

/** What an author's functions threw, for the author's terminal: it may quote samples, so no server shows it. */
export class Thrown {
  readonly #texts = new Map<string, number>()

  /** A listener of function events. */
  readonly note = (event: FunctionEvent): void => {
    if (event.type !== 'failed' || event.error === null) return
    const text = `${event.name} threw in ${event.op}:\n${plain(event.error)}`
    const known = this.#texts.get(text)
    if (known !== undefined || this.#texts.size < mostShown) this.#texts.set(text, (known ?? 0) + 1)
  }

  /** The first different errors, each with how often it came; '' where nothing was thrown. */
  text(): string {
    return [...this.#texts].map(([text, count]) => `${count} x ${text}\n`).join('')
  }
}

/** The first and the last lines, without what a terminal would obey. */
function plain(error: string): string {
  const lines = error.trimEnd().split('\n')
  const left = lines.length - firstLines - lastLines
  const shown =
    left <= 1 ? lines : [...lines.slice(0, firstLines), `(${left} lines)`, ...lines.slice(-lastLines)]
  return shown.map((line) => `    ${line.slice(0, 500).replace(/\p{Cc}/gu, '\ufffd')}`).join('\n')
}
