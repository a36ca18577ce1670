import { GatewayError } from '../errors.ts'

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
  /** Resolves with the exit code; throws GatewayError where the arguments are wrong. */
  run(argv: readonly string[], io: Io): Promise<number>
}

/** Writes an error as people read it: what, where, what to do. */
export function tell(io: Io, error: unknown): void {
  if (!(error instanceof GatewayError)) {
    io.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
    return
  }
  io.stderr.write(`${error.code}: ${error.message}\n`)
  for (const { path, message } of error.problems) io.stderr.write(`  ${path}: ${message}\n`)
}
