import type { ErrorCode } from '../core/errors.ts'
import { type Options, parse, type Suggestion, type Values } from './options.ts'

/** What a command reads and writes. Tests pass their own. */
export interface Io {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted when the process is asked to end (SIGINT, SIGTERM). */
  readonly signal: AbortSignal
  /** Calls the listener at each SIGHUP until the returned function is called; without a listener SIGHUP ends the process. */
  onHangup?(listener: () => void): () => void
}

/**
 * One command. Its help, the check of its arguments and its shell completion come from this declaration, so the file
 * that holds it loads quickly: import what only `run` needs there, if it is heavy (a gateway, a server).
 */
interface Declaration<O extends Options> {
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** The arguments after the name, one line for each form, e.g. `FILE... --output FILE`. */
  readonly synopsis: readonly string[]
  /** Paragraphs for the help. */
  readonly about: string
  /** The arguments of a call that shows the command's main use. */
  readonly example: string
  readonly options: O
  /** The kind of the positional arguments. Absent: the command takes none. */
  readonly positionals?: Suggestion
  /** Codes of errors that are a finding of this command: the exit code is 1, not 2. */
  readonly finds?: readonly ErrorCode[]
  /** Resolves with the exit code; rejects with a GatewayError if the command cannot be done. */
  run(given: { readonly values: Values<O>; readonly positionals: readonly string[] }, io: Io): Promise<number>
}

export interface Command extends Omit<Declaration<Options>, 'run'> {
  run(argv: readonly string[], io: Io): Promise<number>
}

export const defineCommand = <const O extends Options>(declaration: Declaration<O>): Command => ({
  ...declaration,
  // Async, so that a wrong argument rejects like any other error.
  async run(argv, io) {
    const { name, options, positionals } = declaration
    return declaration.run(
      parse(argv, options, { command: name, takesPositionals: positionals !== undefined }),
      io,
    )
  },
})

const lineWidth = 110
const widestOption = 30

/** The help of one command. */
export function helpOf({ name, synopsis, about, options, example }: Command): string {
  const more = Object.keys(options).length > 0 ? ' [options]' : ''
  const lines = synopsis.map((way) => `reward-gateway ${name} ${way}`.trimEnd() + more)
  const rows = Object.entries(options).map(
    ([option, { value, help }]) => [value === null ? `--${option}` : `--${option} ${value}`, help] as const,
  )
  const width = Math.max(0, ...rows.map(([left]) => left.length).filter((length) => length <= widestOption))
  return [
    ...lines,
    '',
    about,
    ...(rows.length === 0
      ? []
      : ['', 'Options:', ...rows.flatMap(([left, help]) => optionLines(left, help, width))]),
    '',
    'Example:',
    `  reward-gateway ${name} ${example}`,
  ].join('\n')
}

/** An option with its help beside it, or below it if the option is long. */
function optionLines(left: string, help: string, width: number): string[] {
  const margin = ' '.repeat(width + 4)
  const [first = '', ...rest] = wrapped(help, lineWidth - margin.length)
  const others = rest.map((line) => margin + line)
  if (left.length > width) return [`  ${left}`, margin + first, ...others]
  return [`  ${left.padEnd(width)}  ${first}`, ...others]
}

/** Wraps a text at `width` characters. A longer word gets its own line. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
