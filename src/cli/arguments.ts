import { type ParseArgsConfig, parseArgs } from 'node:util'
import { GatewayError } from '../core/errors.ts'
import { didYouMean } from '../core/nearest-name.ts'

/** An option that takes a text; absent: undefined. */
export const text = { type: 'string' } as const

/** An option that takes a text; absent: this one. */
export const textOr = (usual: string) => ({ type: 'string', default: usual }) as const

/** An option that may be given several times. */
export const texts = { type: 'string', multiple: true, default: [] as string[] } as const

/** An option that takes nothing. */
export const flag = { type: 'boolean', default: false } as const

/** An option that takes a text for each of these names. */
export const textsOf = <K extends string>(names: Readonly<Record<K, unknown>>): Record<K, typeof text> =>
  Object.fromEntries(Object.keys(names).map((name) => [name, text])) as Record<K, typeof text>

type Options = NonNullable<ParseArgsConfig['options']>

/** node's parseArgs, with what is wrong said as RG_COMMAND_INVALID; `files`: words that are no options are allowed. */
export function parsed<T extends Options>(
  argv: readonly string[],
  options: T,
  files?: 'files',
): ReturnType<typeof parseArgs<{ options: T; allowPositionals: true }>> {
  const args = [...argv]
  const allowPositionals = files !== undefined
  // Read loosely first: what is wrong is said in our words, not in those of parseArgs.
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind === 'option')
      checkOption(token.name, token.rawName, token.value, options, args[token.index + 1])
    else if (token.kind === 'positional' && !allowPositionals)
      throw misused(`'${token.value}' is not expected here${optionsHint(token.value, options)}`)
  }
  try {
    return parseArgs({ args, options, allowPositionals }) as ReturnType<
      typeof parseArgs<{ options: T; allowPositionals: true }>
    >
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new GatewayError('RG_COMMAND_INVALID', `${message}; see --help`, { cause })
  }
}

function checkOption(
  name: string,
  rawName: string,
  value: string | undefined,
  options: Options,
  next: string | undefined,
): void {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (!option) {
    const near = didYouMean(
      rawName,
      Object.keys(options).map((known) => `--${known}`),
    )
    throw misused(`there is no option '${rawName}'${near || '; see --help'}`)
  }
  if (option.type === 'boolean' && value !== undefined) throw misused(`${rawName} takes no value`)
  if (option.type !== 'string') return
  if (value === undefined) throw misused(`${rawName} needs a value`)
  // What follows is most likely the next option: a value that begins with a dash is written --option=-1.
  if (value === next && value.startsWith('-') && value.length > 1)
    throw misused(
      `${rawName} needs a value; '${value}' is an option (write ${rawName}=${value} if it is the value)`,
    )
}

/** For a word that is called like an option. */
const optionsHint = (word: string, options: Options): string =>
  Object.hasOwn(options, word) ? `; did you mean '--${word}'?` : '; see --help'

/** RG_COMMAND_INVALID, to be thrown; with where to read more, where more is amiss than one value. */
export function misused(why: string, usage?: string): GatewayError {
  const [command] = /^reward-gateway [a-z]+/.exec(usage ?? '') ?? []
  const more = command === undefined ? '' : `; see ${command} --help`
  return new GatewayError('RG_COMMAND_INVALID', `${why.replace(/\.$/, '')}${more}`)
}

/** A whole number from an option; throws RG_COMMAND_INVALID naming the option. */
export function wholeNumber(option: string, text: string, low = 0, high = Number.MAX_SAFE_INTEGER): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= low && number <= high) return number
  throw misused(`--${option} ${text}: a whole number from ${low} to ${high} is needed`)
}

/** What makes draws repeatable: 32 bits. */
export const seedNumber = (text: string): number => wholeNumber('seed', text, 0, 0xffff_ffff)

/** One of these words from an option; throws RG_COMMAND_INVALID naming the option. */
export function oneOf<T extends string>(option: string, text: string, words: readonly T[]): T {
  const word = words.find((one) => one === text)
  if (word !== undefined) return word
  throw misused(`--${option} ${text}: one of ${words.join(', ')} is needed${didYouMean(text, words)}`)
}

/** A finite number from an option; throws RG_COMMAND_INVALID naming the option. */
export function finiteNumber(
  option: string,
  text: string,
  [low, high]: readonly [number, number] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
): number {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(number) && number >= low && number <= high) return number
  const bounds = Number.isFinite(low) ? ` from ${low} to ${high}` : ''
  throw misused(`--${option} ${text}: a number${bounds} is needed`)
}

/** null where the option was not given. */
export const given = <T>(text: string | undefined, read: (text: string) => T): T | null =>
  text === undefined ? null : read(text)
