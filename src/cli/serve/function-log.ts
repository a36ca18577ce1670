import { type Clock, systemClock } from '../../core/clock.ts'
import type { Json, Sample } from '../../core/sample/sample.ts'
import type { FunctionFailed } from '../../scoring/functions/function-host.ts'

/** Maximum number of distinct failures of one function that are logged within a window. */
const mostDifferent = 5
const windowMs = 60_000

/** A log line about a function's failures. */
type FaultLine =
  | {
      readonly function: string
      readonly op: FunctionFailed['op']
      readonly cause: FunctionFailed['cause']
      readonly failure: string
      readonly detail: string
      readonly error?: string
    }
  | { readonly function: string; readonly failures: number; readonly seconds: number }

interface Window {
  readonly until: number
  readonly details: Set<string>
  failures: number
}

/**
 * Logs failures of reward functions: each distinct failure immediately, and the number of further ones once a minute. No
 * line contains words of a sample.
 */
export class FunctionFaults {
  readonly #windows = new Map<string, Window>()
  readonly #write: (line: FaultLine) => void
  readonly #clock: Clock

  constructor(write: (line: FaultLine) => void, clock: Clock = systemClock) {
    this.#write = write
    this.#clock = clock
  }

  note(event: FunctionFailed): void {
    const { name, op, cause, failure } = event
    const window = this.#windowOf(name)
    const key = `${cause} ${failure.detail}`
    if (window.details.has(key) || window.details.size >= mostDifferent) {
      window.failures++
      return
    }
    window.details.add(key)
    const error = event.error === null ? undefined : redacted(event.error, textsIn(event))
    this.#write({
      function: name,
      op,
      cause,
      failure: failure.kind,
      detail: failure.detail,
      ...(error && { error }),
    })
  }

  #windowOf(name: string): Window {
    const now = this.#clock.now()
    let window = this.#windows.get(name)
    if (window && now < window.until) return window
    if (window) this.#tell(name, window)
    window = { until: now + windowMs, details: new Set(), failures: 0 }
    this.#windows.set(name, window)
    return window
  }

  /** Writes the counts of windows that have ended, and removes the windows. Whether others are left. */
  flush(): boolean {
    const now = this.#clock.now()
    for (const [name, window] of this.#windows) {
      if (now < window.until) continue
      this.#tell(name, window)
      this.#windows.delete(name)
    }
    return this.#windows.size > 0
  }

  #tell(name: string, { failures }: Window): void {
    if (failures > 0) this.#write({ function: name, failures, seconds: windowMs / 1000 })
  }
}

function textsIn({ rows, answer }: FunctionFailed): string[] {
  const texts: string[] = []
  for (const { sample, earlier } of rows) {
    for (const text of textsOf(sample)) texts.push(text)
    for (const step of Object.values(earlier)) for (const text of step.texts) texts.push(text)
  }
  add(answer as Parameters<typeof add>[0], texts, 0)
  return texts
}

/** Words in the interpreters' own messages. They are shown even if a sample contains them. */
const ownWords = new Set(
  `a an and any are argument arguments array at attribute base be been before bool boolean by bytes call callable can cannot
  character char class column codec convert could decode defined dict dictionary division does dtype empty encode error
  exception exceeded expected failed file find float for found from function got has have import in index indices input
  instance int integer integers into invalid is it iterable item items json key keys len length limit line list literal map
  math memory method missing module most must name named no none not nonetype null number numeric object of on only operand
  operands or out pack parameter position positional properties property range read reading recursion required returned
  returning reward score sequence set shape size str string strings subscriptable such supported syntax take takes than that
  the to token too traceback tuple type types undefined unexpected unhashable unpack unsupported unterminated value values
  was were with without zero recent last call stack assertion lookup overflow os runtime timeout rangeerror referenceerror
  syntaxerror typeerror valueerror keyerror indexerror attributeerror nameerror assertionerror zerodivisionerror
  importerror modulenotfounderror memoryerror recursionerror runtimeerror unicodedecodeerror jsondecodeerror oserror
  fault`.split(/\s+/),
)

/** Maximum length of the texts to search. If they are longer, only `ownWords` are shown. */
const mostCharacters = 2_000_000
const mostLines = 8
const lineLength = 300

/**
 * The message and the last lines of a function's error, without the samples' words and numbers. A word that occurs in a
 * sample, in any case, becomes `…`, except for the interpreters' own words.
 */
export function redacted(error: string, texts: readonly string[]): string {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  const known = length > mostCharacters ? null : texts.join('\n').normalize('NFKC').toLowerCase()
  return endsOf(error)
    .map((line) =>
      line
        .slice(0, lineLength)
        .replace(/\\(?:[nrt]|x[\da-f]{2}|u[\da-f]{4})/gi, ' ')
        .replace(/\p{Cc}/gu, ' ')
        .replace(/[\p{L}\p{N}\p{M}]+/gu, (word) => {
          const plain = word.normalize('NFKC').toLowerCase()
          return ownWords.has(plain) || (known !== null && !known.includes(plain)) ? word : '…'
        }),
    )
    .join('\n')
}

/** Frames of Node and of this package's executors do not concern the function. */
const isOwnFrame = (line: string): boolean =>
  /^\s+at .*(?:node:|[\\/]functions[\\/]worker[\\/])/.test(line.slice(0, 1000))

/** The first lines, with the message of JavaScript, and the last lines, with the message of Python. */
function endsOf(error: string): string[] {
  const lines = error
    .trimEnd()
    .split('\n')
    .filter((line) => !isOwnFrame(line))
  return lines.length <= mostLines ? lines : [...lines.slice(0, 2), '…', ...lines.slice(3 - mostLines)]
}

/** All texts of a sample. */
export function textsOf(sample: Sample): string[] {
  const texts: string[] = []
  for (const value of Object.values(sample)) add(value as Json, texts, 0)
  return texts
}

/** Adds all texts and keys within a value, and numbers as texts. */
function add(value: Json | undefined, texts: string[], depth: number): void {
  if (typeof value === 'string') texts.push(value)
  else if (typeof value === 'number') texts.push(String(value))
  else if (typeof value === 'object' && value !== null && depth < 64)
    for (const [key, item] of Object.entries(value)) {
      if (!Array.isArray(value)) texts.push(key)
      add(item, texts, depth + 1)
    }
}
