import { type ErrorCode, GatewayError } from '../core/errors.ts'
import { fileTrouble, pathOf, reasonOf } from '../core/system-error.ts'

/** What a command reads and writes; tests give their own. */
export interface Io {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted when the process is asked to end (SIGINT, SIGTERM). */
  readonly signal: AbortSignal
  /** Calls the listener at each SIGHUP, until ended; a command that does not ask is ended by it. */
  onHangup?(listener: () => void): () => void
}

/** One command of `reward-gateway`. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  readonly usage: string
  /** Codes of errors that are what the command looks for: it has done its work, and the answer is no. */
  readonly finds?: readonly ErrorCode[]
  /** Resolves with the exit code; throws GatewayError where it could not be done. */
  run(argv: readonly string[], io: Io): Promise<number>
}

/** Writes an error as people read it: what, where, what to do. `stack`: and where in the code it happened. */
export function tell(io: Io, error: unknown, stack = false): void {
  const told = asGatewayError(error)
  io.stderr.write(`${told.code}: ${told.message}\n`)
  for (const { path, message } of told.problems) {
    const line = `${path}: ${message}`
    if (line !== told.message) io.stderr.write(`  ${line}\n`)
  }
  if (stack) io.stderr.write(`${stackOf(error)}\n`)
}

/** The variable that asks for the place in the code of whatever goes wrong. */
export const stackVariable = 'REWARD_GATEWAY_STACK'

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const trouble = fileTrouble(error)
  if (trouble !== null) {
    const path = pathOf(error)
    return new GatewayError('RG_INPUT_INVALID', path === '' ? trouble : `${path}: ${trouble}`)
  }
  return new GatewayError(
    'RG_INTERNAL',
    `${reasonOf(error)}; this is a fault of the gateway itself: report it with what ${stackVariable}=1 adds`,
  )
}

/** The stacks of an error and of what caused it. */
function stackOf(error: unknown): string {
  const stacks: string[] = []
  for (let one = error; one instanceof Error && stacks.length < 5; one = one.cause)
    stacks.push(one.stack ?? one.message)
  return stacks.length > 0 ? stacks.join('\ncaused by ') : String(error)
}
