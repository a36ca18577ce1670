/** A case on its way to a process that runs programs, and its result on the way back. */

import { randomUUID } from 'node:crypto'
import type {
  CaseEnd,
  CaseResult,
  Execution,
  Expected,
  ProgramCase,
  ProgramLimits,
} from '../../contract/execution.ts'
import type { Json } from '../../core/sample/sample.ts'
import { exactJson, isRare, isWritten } from './case-value.ts'
import { passes } from './compare.ts'

/** A case's result as zygote.py sends it. `unknown`: what is expected cannot be computed. */
export interface Answer {
  readonly ended: CaseEnd | 'unknown'
  readonly stdout: string
  readonly stderr: string
  readonly value?: unknown
  readonly cpu_s: number
  readonly wall_s?: number
  /** Its time ended while it waited by its own will, and nobody kept it from its core. */
  readonly asleep?: boolean
}

/** What the cases of one program are compared with. */
export interface Comparison {
  /** Values of `expected.python`. */
  readonly wanted: ReadonlyMap<string, unknown>
  /** Statements that run before `expected.python` and `expected.holds`. */
  readonly setup: string
  /** Asks a process that runs no program. */
  ask(input: CaseMessage): Promise<Answer>
}

/** Whether the value of `expected.python` has to be known before the case runs. */
export const isEvaluated = (
  expected: Expected | undefined,
): expected is Extract<Expected, { readonly python: string }> =>
  expected !== undefined && 'python' in expected && !('holds' in expected)

/** What became of a case. Rejects with NoExpectedValue, and with what `ask` rejects with. Nothing that a program wrote makes it reject. */
export async function resultOf(
  answer: Answer,
  { expected }: ProgramCase,
  input: CaseMessage,
  comparison: Comparison,
): Promise<CaseResult> {
  const { stderr, value, cpu_s: cpuSeconds, wall_s: wall } = answer
  const told = (ended: CaseEnd, passed: boolean, said = stderr): CaseResult => ({
    ended,
    passed: passed && ended === 'ok',
    error: (said.trimEnd().split('\n').at(-1) ?? '').slice(0, 200),
    cpuSeconds,
    wallSeconds: wall ?? null,
  })
  const ended = answer.ended === 'unknown' ? 'exit' : answer.ended
  // An exit code proves nothing: a program can end before the case has run.
  if (ended !== 'ok' || (input.gives !== undefined && value === undefined)) {
    await checkTest(expected, comparison)
    return told(ended, false)
  }
  // It may have written the value itself.
  if (value !== undefined && !isWritten(value)) return told('tampered', false)
  const wanted = isEvaluated(expected) ? comparison.wanted.get(expected.python) : undefined
  const asked = expected && value !== undefined ? holdsInput(expected, value, wanted, comparison.setup) : null
  if (asked) {
    const said = await comparison.ask(asked)
    if (said.ended === 'unknown') throw new NoExpectedValue()
    const isBroken = said.ended === 'time' || said.ended === 'memory'
    const passed = said.ended === 'ok' && said.value === true
    return told(isBroken ? said.ended : 'ok', passed, passed ? stderr : said.stderr)
  }
  try {
    return told('ok', expected === undefined || (!('holds' in expected) && passes(expected, answer, wanted)))
  } catch {
    return told('tampered', false)
  }
}

/** Rejects with NoExpectedValue if the test's own code raises: then the program has not failed. */
async function checkTest(expected: Expected | undefined, { setup, ask }: Comparison): Promise<void> {
  if (expected === undefined || !('holds' in expected)) return
  if (setup === '' && expected.python === undefined) return
  const { ended } = await ask({ ...expected, holds: 'True', on: null, setup, gives: randomUUID() })
  if (ended === 'unknown') throw new NoExpectedValue()
}

/** What Python has to compare. null: the gateway does it. */
function holdsInput(expected: Expected, value: unknown, wanted: unknown, setup: string): CaseMessage | null {
  const about = { on: value, setup, gives: randomUUID() }
  if ('holds' in expected) return { ...expected, ...about }
  if (!isEvaluated(expected) || 'atol' in expected || !(isRare(value) || isRare(wanted))) return null
  return { holds: '_ == expected', python: expected.python, ...about }
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

/** What a result of `report: outputs` tells besides its verdict. A value that is no value of a program is left out. */
export const outputsOf = (
  { stdout, value }: Pick<Answer, 'stdout' | 'value'>,
  { ended }: Pick<CaseResult, 'ended'>,
): { readonly stdout: string; readonly value?: Json } => ({
  stdout,
  ...(value !== undefined && ended !== 'tampered' && { value: exactJson(value) }),
})

/** A case as zygote.py reads it. */
export interface CaseMessage {
  readonly [name: string]: unknown
}

/** What the program's process learns of a case. */
export function inputOf(one: ProgramCase): CaseMessage {
  if ('stdin' in one) return { stdin: one.stdin }
  const { expected } = one
  const about = { gives: randomUUID(), ...(expected && 'holds' in expected && { items: true }) }
  if ('call' in one) return { call: one.call, args: one.args, ...about }
  return 'check' in one ? { check: one.check, ...about } : { value: one.value, ...about }
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
