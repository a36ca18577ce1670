import { GatewayError } from '../../core/errors.ts'
import { codeOf, pathOf, reasonOf } from '../../core/system-error.ts'

/** Throws RG_INPUT_INVALID for an output that cannot be written. */
export function unwritable(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause
  const path = pathOf(cause).replace(/\.partial(?:\.jsonl?)?$/, '')
  // What is missing is never the file: it is made.
  const why = codeOf(cause) === 'ENOENT' ? 'its folder does not exist' : reasonOf(cause)
  const what = path === '' ? 'the output' : path
  throw new GatewayError('RG_INPUT_INVALID', `${what}: cannot be written: ${why}`, { cause })
}
