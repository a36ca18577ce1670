import { readFileSync } from 'node:fs'
import { GatewayError } from '../errors.ts'

/** What is wrong with an input file. */
export const invalidInput = (file: string, why: string): GatewayError =>
  new GatewayError('RG_INPUT_INVALID', `${file}: ${why}`)

/** The whole of an input file; throws RG_INPUT_INVALID where it cannot be read. */
export function inputText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw invalidInput(file, `cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
