/** Failures of programs that are not the program's own. */

import type { Failure } from '../../core/sample/sample.ts'
import type { ProgramRequest } from './sandbox.ts'

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
