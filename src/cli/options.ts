import { parseArgs } from 'node:util'
import { GatewayError, type Problem } from '../core/errors.ts'
import { didYouMean } from '../core/nearest-name.ts'

/** The candidates of shell completion: files, folders, the rewards of the configs on the command line, or these words. */
export type Suggestion = 'files' | 'folders' | 'rewards' | readonly string[]

/** One option of a command: the source of its help, its check and its completion. */
export interface Option<T> {
  /** The placeholder for the value in the help, e.g. `FILE`. null: the option takes no value. */
  readonly value: string | null
  readonly help: string
  readonly isRepeatable: boolean
  readonly suggests: Suggestion | null
  /** Converts the given values, in order, into one. Throws BadValue. */
  read(texts: readonly string[]): T
}

export type Options = Readonly<Record<string, Option<unknown>>>

/** A command's options after parsing: one checked value for each. */
export type Values<O extends Options> = { readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never }

/** Thrown by the reader of an option. The message completes the sentence `--option: ...`. */
export class BadValue extends Error {
  /** The result of an option that may be repeated. */
  readonly others: readonly BadValue[]

  constructor(message: string, others: readonly BadValue[] = []) {
    super(message)
    this.others = others
  }
}

interface Settings<D> {
  /** The value if the option is absent; undefined by default. */
  readonly or?: D
  readonly suggests?: Suggestion
}

/** An option whose text is checked and converted by `read`. If it is given twice, the last one counts. */
export function option<T, const D = undefined>(
  value: string,
  help: string,
  read: (text: string) => T,
  { or, suggests }: Settings<D> = {},
): Option<T | NoInfer<D>> {
  const shown = or === undefined || or === '' ? '' : ` (default ${or})`
  return {
    value,
    help: `${help}${shown}`,
    isRepeatable: false,
    suggests: suggests ?? null,
    read: (texts) => {
      const text = texts.at(-1)
      return text === undefined ? (or as D) : read(text)
    },
  }
}

/** An option that may be given several times. */
export const repeated = <T>(one: Option<T>): Option<readonly Exclude<T, undefined>[]> => ({
  ...one,
  help: `${one.help}; repeatable`,
  isRepeatable: true,
  read(texts) {
    const bad: BadValue[] = []
    const values = texts.map((text) => {
      try {
        return one.read([text]) as Exclude<T, undefined>
      } catch (error) {
        if (!(error instanceof BadValue)) throw error
        bad.push(error)
        return null as never
      }
    })
    const [first, ...others] = bad
    if (first) throw new BadValue(first.message, others)
    return values
  },
})

/** An option that takes no value. */
export const flag = (help: string): Option<boolean> => ({
  value: null,
  help,
  isRepeatable: false,
  suggests: null,
  read: (texts) => texts.length > 0,
})

/** Any text. */
export const text = <const D = undefined>(
  value: string,
  help: string,
  settings: Settings<D> = {},
): Option<string | NoInfer<D>> => option(value, help, (given) => given, settings)

/** The path of a file. */
export const file = <const D = undefined>(
  value: string,
  help: string,
  settings: Settings<D> = {},
): Option<string | NoInfer<D>> => text(value, help, { suggests: 'files', ...settings })

interface Range {
  readonly low?: number
  readonly high?: number
}

/** A whole number; from 0 unless `low` says otherwise. */
export const whole = <const D = undefined>(
  value: string,
  help: string,
  { low = 0, high = Number.MAX_SAFE_INTEGER, ...settings }: Settings<D> & Range = {},
): Option<number | NoInfer<D>> => option(value, help, (given) => readWhole(given, { low, high }), settings)

/** A whole number within a range. Throws BadValue. */
export const readWhole = (given: string, range: Range): number =>
  checked(/^\d+$/.test(given) ? Number(given) : Number.NaN, given, 'a whole number', range)

/** A finite number. `unit` completes what the message asks for, e.g. `seconds`. */
export const number = <const D = undefined>(
  value: string,
  help: string,
  { low, high, unit, ...settings }: Settings<D> & Range & { readonly unit?: string } = {},
): Option<number | NoInfer<D>> =>
  option(
    value,
    help,
    (given) =>
      readNumber(given, { ...(low !== undefined && { low }), ...(high !== undefined && { high }) }, unit),
    settings,
  )

/** A finite number within a range. Throws BadValue. */
export const readNumber = (given: string, range: Range = {}, unit?: string): number =>
  checked(
    given.trim() === '' ? Number.NaN : Number(given),
    given,
    unit === undefined ? 'a number' : `a number of ${unit}`,
    range,
  )

function checked(number: number, given: string, kind: string, { low, high }: Range): number {
  const [least, most] = [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY]
  if (Number.isFinite(number) && number >= least && number <= most) return number
  const isOpen = most >= Number.MAX_SAFE_INTEGER
  const range = low === undefined ? '' : isOpen ? ` of at least ${low}` : ` from ${low} to ${high}`
  throw new BadValue(`must be ${kind}${range}, not '${given}'`)
}

/** One of these words. */
export const oneOf = <const T extends string, const D = undefined>(
  words: readonly T[],
  help: string,
  settings: Settings<D> & { readonly value?: string } = {},
): Option<T | NoInfer<D>> =>
  option(settings.value ?? words.join('|'), help, (given) => readWord(given, words), {
    suggests: words,
    ...settings,
  })

/** One of these words. Throws BadValue with the nearest of them. */
export function readWord<T extends string>(given: string, words: readonly T[]): T {
  const word = words.find((one) => one === given)
  if (word !== undefined) return word
  throw new BadValue(`must be one of ${words.join(', ')}, not '${given}'${didYouMean(given, words)}`)
}

/** The 32-bit seed of a random draw. */
export const seed = <const D = undefined>(
  help: string,
  settings: Settings<D> = {},
): Option<number | NoInfer<D>> => whole('N', help, { high: 0xffff_ffff, ...settings })

/** Creates an RG_COMMAND_INVALID error. `command`: the command whose help says more. */
export const misused = (why: string, command?: string): GatewayError =>
  new GatewayError(
    'RG_COMMAND_INVALID',
    command === undefined ? why : `${why}; see reward-gateway ${command} --help`,
  )

/**
 * Parses a command line by the declared options. Node's parser splits it; the messages are our own. Only declared names
 * become keys. Throws RG_COMMAND_INVALID with all wrong values at once.
 */
export function parse<O extends Options>(
  argv: readonly string[],
  options: O,
  { command, takesPositionals }: { readonly command: string; readonly takesPositionals: boolean },
): { readonly values: Values<O>; readonly positionals: readonly string[] } {
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(options).map(([name, { value }]) => [
        name,
        { type: value === null ? 'boolean' : 'string' },
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (!takesPositionals) throw unexpected(token.value, options, command)
      positionals.push(token.value)
    } else if (token.kind === 'option') {
      const text = textOf(token, options, command)
      given.set(token.name, [...(given.get(token.name) ?? []), text])
    }
  }
  const problems: Problem[] = []
  const values = Object.entries(options).map(([name, { read }]) => {
    try {
      return [name, read(given.get(name) ?? [])]
    } catch (error) {
      if (!(error instanceof BadValue)) throw error
      for (const { message } of [error, ...error.others]) problems.push({ path: `--${name}`, message })
      return [name, undefined]
    }
  })
  const [first, ...others] = problems
  if (first === undefined) return { values: Object.fromEntries(values) as Values<O>, positionals }
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    others.length === 0 ? `${first.path}: ${first.message}` : `${problems.length} options are wrong`,
    { problems },
  )
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** The text of an option as given; '' for an option without a value. */
function textOf(
  { name, rawName, value, inlineValue }: OptionToken,
  options: Options,
  command: string,
): string {
  const declared = Object.hasOwn(options, name) ? options[name] : undefined
  if (!declared) {
    const known = Object.keys(options).map((option) => `--${option}`)
    const near = didYouMean(rawName, known)
    throw misused(`there is no option '${rawName}'${near}`, near === '' ? command : undefined)
  }
  if (declared.value === null) {
    if (value === undefined) return ''
    throw misused(`${rawName} takes no value`)
  }
  if (value === undefined) throw misused(`${rawName} needs a value: ${declared.value}`)
  // The next word is probably another option, unless it is a negative number.
  if (!inlineValue && /^-(?![\d.]|$)/.test(value))
    throw misused(
      `${rawName} needs a value; '${value}' is an option (write ${rawName}=${value} if it is the value)`,
    )
  return value
}

function unexpected(word: string, options: Options, command: string): GatewayError {
  const isOption = Object.hasOwn(options, word)
  const near = isOption ? `; did you mean '--${word}'?` : ''
  return misused(`'${word}' is not expected here${near}`, isOption ? undefined : command)
}
