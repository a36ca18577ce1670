import { GatewayError } from '../errors.ts'

/** Throws RG_INPUT_INVALID for an output that cannot be written. */
export function unwritable(cause: Error): never {
  throw new GatewayError('RG_INPUT_INVALID', `the output cannot be written: ${cause.message}`, { cause })
}
