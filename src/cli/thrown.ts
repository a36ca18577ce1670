import type { FunctionEvent } from '../functions/events.ts'

const mostShown = 3
const mostLines = 12

/** What an author's functions threw, for the author's terminal: it may quote samples, so no server shows it. */
export class Thrown {
  readonly #texts = new Map<string, number>()

  /** A listener of function events. */
  readonly note = (event: FunctionEvent): void => {
    if (event.type !== 'threw') return
    const text = `${event.name} threw in ${event.op}:\n${plain(event.error)}`
    const known = this.#texts.get(text)
    if (known !== undefined || this.#texts.size < mostShown) this.#texts.set(text, (known ?? 0) + 1)
  }

  /** The first different errors, each with how often it came; '' where nothing was thrown. */
  text(): string {
    return [...this.#texts].map(([text, count]) => `${count} x ${text}\n`).join('')
  }
}

/** The first lines, without what a terminal would obey. */
const plain = (error: string): string =>
  error
    .split('\n', mostLines)
    .map((line) => `    ${line.slice(0, 500).replace(/\p{Cc}/gu, '\ufffd')}`)
    .join('\n')
