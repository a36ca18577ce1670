import { type ParseArgsConfig, parseArgs } from 'node:util'
import { GatewayError } from '../errors.ts'

/** node's parseArgs, with what is wrong said as RG_COMMAND_INVALID. */
export function parsed<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new GatewayError('RG_COMMAND_INVALID', `${message} See --help.`, { cause })
  }
}

/** A whole number from an option; throws RG_COMMAND_INVALID naming the option. */
export function wholeNumber(option: string, text: string, low = 0, high = Number.MAX_SAFE_INTEGER): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= low && number <= high) return number
  throw new GatewayError(
    'RG_COMMAND_INVALID',
    `--${option} ${text}: a whole number from ${low} to ${high} is needed`,
  )
}

/** One of these words from an option; throws RG_COMMAND_INVALID naming the option. */
export function oneOf<T extends string>(option: string, text: string, words: readonly T[]): T {
  const word = words.find((one) => one === text)
  if (word !== undefined) return word
  throw new GatewayError('RG_COMMAND_INVALID', `--${option} ${text}: one of ${words.join(', ')} is needed`)
}

/** A finite number from an option; throws RG_COMMAND_INVALID naming the option. */
export function finiteNumber(option: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isFinite(number)) return number
  throw new GatewayError('RG_COMMAND_INVALID', `--${option} ${text}: a number is needed`)
}
