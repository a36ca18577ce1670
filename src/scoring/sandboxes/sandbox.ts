/** What every kind of sandbox is to the engine, to the server's pages and to its metrics. */

import type { Execution, ExecutionResult } from '../../contract/execution.ts'
import type { Failure, FailureKind } from '../../core/sample/sample.ts'
import type { CancelToken } from '../models/interface/cancel-token.ts'
import type { CaseExcerpts } from './excerpts.ts'

/** A program that waits for its turn or runs. */
export interface ProgramRequest {
  readonly execution: Execution
  /** On the clock, milliseconds. */
  readonly deadline: number
  readonly signal: AbortSignal | CancelToken
  /** Whether somebody looks at what its cases write. The result is the same. */
  readonly excerpts?: boolean | undefined
}

/** What became of a program. A failure is never the program's own fault. */
export type ProgramOutcome = Ran | { readonly failure: Failure }

/** `excerpts`: of the cases of `result`, in order, if they were asked for and the sandbox has them. */
export interface Ran {
  readonly result: ExecutionResult
  readonly excerpts?: readonly CaseExcerpts[] | undefined
}

/** Runs programs. */
export interface Sandbox {
  /** How programs are confined, in words. Rejects with RG_CONFIG_INVALID if they cannot be run here. */
  open(): Promise<Confinement>
  /** Never rejects. */
  run(request: ProgramRequest): Promise<ProgramOutcome>
  snapshot(): SandboxSnapshot
  close(): void
}

/** How the programs of a sandbox are confined. */
export interface Confinement {
  readonly text: string
  /** False: programs may do what the user of the gateway may. */
  readonly isConfined: boolean
}

/** The current state of a sandbox. */
export interface SandboxSnapshot {
  readonly name: string
  readonly backend: string
  /** null until it was opened. */
  readonly confinement: Confinement | null
  /** Programs that wait for their turn. */
  readonly waiting: number
  /** Programs that wait because no server can be asked, and since when (milliseconds since the epoch); null if none does. */
  readonly parked: { readonly questions: number; readonly since: number } | null
  /** Its programs wait for a server until their deadline, and one has answered. */
  readonly isPatient: boolean
  readonly instances: readonly SandboxInstance[]
}

/** One place where programs of a sandbox run. */
interface SandboxInstance {
  /** `local`: this machine. */
  readonly address: string
  readonly state: string
  readonly weight: number
  readonly inFlight: number
  readonly limit: number
  readonly latencyMs: number
  readonly calls: number
  readonly errors: number
}

interface At {
  readonly sandbox: string
}
interface AtInstance extends At {
  readonly instance: string
}

/** Events of sandboxes. */
export interface SandboxEvents {
  /** A program has ended; the outcome is the program's own only in `ok`. */
  ended?(run: AtInstance & { readonly ms: number; readonly outcome: 'ok' | FailureKind }): void
  /** A program waited this long for its turn. Not called if it did not wait. */
  queued?(wait: At & { readonly ms: number }): void
  /** A process that runs programs ended and is replaced. */
  restarted?(change: AtInstance): void
  /** A program is run again after a failure of `kind` that was not its own. */
  retried?(retry: At & { readonly kind: FailureKind }): void
  /** A server stops getting programs, or gets them again. */
  ejected?(change: AtInstance & { readonly reason: string }): void
  readmitted?(change: AtInstance): void
}

/** The failure of a program in a language that a sandbox does not have. */
export const withoutLanguage = (
  sandbox: string,
  language: string,
  languages: readonly string[],
): Failure => ({
  kind: 'sandbox_unreachable',
  retryable: false,
  detail: `the sandbox '${sandbox}' runs ${languages.join(', ')}; add '${language}' to its \`languages\``,
})

/** The failure of a program whose process ended, again and again. */
export const broken: Failure = {
  kind: 'sandbox_unreachable',
  retryable: true,
  detail: 'the process that runs programs ended while it ran this one',
}

/** The failure of a program that nobody waits for any more. */
export const endedEarly = ({ signal }: Pick<ProgramRequest, 'signal'>): Failure =>
  signal.aborted
    ? { kind: 'cancelled', retryable: true, detail: 'the client disconnected' }
    : {
        kind: 'deadline',
        retryable: true,
        detail: "the request's deadline passed before the program had run",
      }
