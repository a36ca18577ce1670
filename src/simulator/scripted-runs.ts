/** A script of what programs print, so that a server of programs can be imitated without running any. */

import { badRequest } from './refusal.ts'

/** How a program ends, in the words of the gateway's results. */
const programEnds = ['ok', 'exception', 'exit', 'signal', 'time', 'memory', 'missing', 'compile'] as const

type ProgramEnd = (typeof programEnds)[number]

/** What a program does. The conditions choose it: the first entry of a script that fits counts. */
export interface ScriptedRun {
  /** A piece of the program's text. If absent: any program. */
  readonly program?: string
  /** The whole standard input. If absent: any. */
  readonly stdin?: string
  /** A piece of the call, the expression or the statements that a test evaluates. If absent: any test. */
  readonly test?: string
  /** How it ends (`ok`). */
  readonly ended?: ProgramEnd
  readonly stdout?: string
  readonly stderr?: string
  /** The value of the test, as JSON (null). Without meaning for standard input. */
  readonly value?: unknown
  /** The exit code of `exit` (1). */
  readonly code?: number
  /** Seconds that the server reports (0.01). */
  readonly seconds?: number
  /** The server's whole reply instead. */
  readonly reply?: { readonly status?: number; readonly body: unknown }
}

const texts = ['program', 'stdin', 'test', 'stdout', 'stderr'] as const
const numbers = ['code', 'seconds'] as const
const known = new Set<string>([...texts, ...numbers, 'ended', 'value', 'reply'])

/** Reads a script from JSON. Throws a Refusal (400) that names the problem. */
export function readScript(value: unknown): ScriptedRun[] {
  if (!Array.isArray(value)) throw badRequest('a script is a list of runs')
  return (value as readonly unknown[]).map((item, index) => {
    const at = `[${index}]`
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw badRequest(`${at} is no object`)
    const run = item as Readonly<Record<string, unknown>>
    const unknown = Object.keys(run).find((name) => !known.has(name))
    if (unknown !== undefined)
      throw badRequest(`${at}.${unknown} is not known; there are ${[...known].join(', ')}`)
    for (const name of texts)
      if (run[name] !== undefined && typeof run[name] !== 'string')
        throw badRequest(`${at}.${name} must be a text`)
    for (const name of numbers)
      if (run[name] !== undefined && !Number.isFinite(run[name]))
        throw badRequest(`${at}.${name} must be a number`)
    if (run.ended !== undefined && !programEnds.includes(run.ended as ProgramEnd))
      throw badRequest(`${at}.ended must be one of ${programEnds.join(', ')}`)
    return run as unknown as ScriptedRun
  })
}

/** What a server of programs was asked to run. */
interface AskedRun {
  readonly program: string
  readonly stdin: string
  /** The call, expression or statements that are evaluated; null for standard input. */
  readonly test: string | null
}

const silent: ScriptedRun = {}

/** The first run of a script that fits, else a program that prints nothing and ends well. */
export function scriptedRun(script: readonly ScriptedRun[], { program, stdin, test }: AskedRun): ScriptedRun {
  const fits = (run: ScriptedRun): boolean =>
    (run.program === undefined || program.includes(run.program)) &&
    (run.stdin === undefined || run.stdin === stdin) &&
    (run.test === undefined || (test?.includes(run.test) ?? false))
  return script.find(fits) ?? silent
}
