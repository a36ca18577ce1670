/** A case on its way to a process that runs programs, and its result on the way back. */

import { randomUUID } from 'node:crypto'
import type { CaseResult, Execution, ProgramCase, ProgramLimits } from '../../contract/execution.ts'
import { outputsOf, passes } from './compare.ts'
import { meets } from './operators.ts'

/** A case's result as zygote.py sends it. */
export interface Answer {
  readonly ended: CaseResult['ended']
  readonly stdout: string
  readonly stderr: string
  readonly value?: unknown
  readonly cpu_s: number
  readonly wall_s?: number
  /** Its time ended while it waited by its own will, and nobody kept it from its core. */
  readonly asleep?: boolean
}

/** Whether a case passed. `wanted`: values of `expected.python`. */
export function resultOf(
  answer: Answer,
  { expected }: ProgramCase,
  input: CaseMessage,
  wanted: ReadonlyMap<string, unknown>,
): CaseResult {
  const gives = (): boolean => {
    // An exit code proves nothing: a program can end before the case has run.
    if (input.gives !== undefined && answer.value === undefined) return false
    if (expected && 'python' in expected) return meets(answer.value, expected, wanted.get(expected.python))
    return passes(expected, answer)
  }
  // The program may have written the value itself.
  const ended = isForged(answer.value, deepestValue) ? 'tampered' : answer.ended
  return {
    ended,
    passed: ended === 'ok' && gives(),
    error: (answer.stderr.trimEnd().split('\n').at(-1) ?? '').slice(0, 200),
    cpuSeconds: answer.cpu_s,
  }
}

/** Characters of what all cases of one program printed and gave, as results with outputs tell them. */
const mostReported = 16 * 1024 * 1024

/** Adds outputs to the results of one program's cases, where they are asked for. A case beyond the bound has ended by its output. */
export class Report {
  readonly #hasOutputs: boolean
  #left = mostReported

  constructor(report: Execution['report']) {
    this.#hasOutputs = report === 'outputs'
  }

  of(answer: Answer, result: CaseResult): CaseResult {
    if (!this.#hasOutputs) return result
    const outputs = outputsOf(answer, result)
    const size = outputs.stdout.length + (JSON.stringify(outputs.value)?.length ?? 0)
    if (size > this.#left) return { ...result, ended: 'output', passed: false, stdout: '' }
    this.#left -= size
    return { ...result, ...outputs }
  }
}

/** Levels of JSON: case_value.py writes at most 200 of a value, and three for each dict. */
const deepestValue = 640

/** Deeper than `levels`, which is as deep as readers go, or with a number that JSON does not have, such as 1e999. */
const isForged = (value: unknown, levels: number): boolean =>
  typeof value === 'number'
    ? !Number.isFinite(value)
    : typeof value === 'object' &&
      value !== null &&
      (levels === 0 || Object.values(value).some((one) => isForged(one, levels - 1)))

/** A case as zygote.py reads it. */
export interface CaseMessage {
  readonly [name: string]: string
}

/** What the program's process learns of a case. */
export function inputOf(one: ProgramCase): CaseMessage {
  if ('stdin' in one) return { stdin: one.stdin }
  const gives = randomUUID()
  if ('call' in one) return { call: one.call, args: one.args, gives }
  return 'check' in one ? { check: one.check, gives } : { value: one.value, gives }
}

/** An expression that needs no program. */
export const aloneInput = (value: string): CaseMessage => ({ value, alone: 'yes', gives: randomUUID() })

/** Takes the value out of what came back. A program that wrote something itself has spoiled it. */
export function unsealed({ value: sealed, ...answer }: Answer, { gives }: CaseMessage): Answer {
  if (sealed === undefined) return answer
  if (Array.isArray(sealed) && sealed.length === 2 && sealed[0] === gives)
    return { ...answer, value: sealed[1] }
  return { ...answer, ended: 'tampered' }
}

/** Limits with their defaults, and as zygote.py reads them. */
export function limitsOf({
  cpuSeconds = 10,
  wallSeconds = 10,
  totalSeconds = 60,
  memoryMb = 1024,
  outputMb = 1,
}: ProgramLimits) {
  const message = {
    cpu_s: cpuSeconds,
    wall_s: wallSeconds,
    memory_mb: memoryMb,
    output_bytes: Math.ceil(outputMb * 1024 * 1024),
  }
  return { wallSeconds, totalSeconds, message }
}

/** No program could pass such a test. */
export class NoExpectedValue extends Error {
  override readonly name = 'NoExpectedValue' as const
  override readonly message = 'what a test expects cannot be computed or compared without the program'
}
