import type { Range } from '../../../contract/index.ts'
import type { FailureKind, Score } from '../../../core/sample/sample.ts'
import { ContractViolation, nameOf, refusePromise } from './contract-violation.ts'
import { boundedDetails } from './details.ts'
import { isPlain } from './freeze.ts'

/** What a hook's verdicts must keep to. */
export interface VerdictLimits {
  /** The name of the author's method, for messages. */
  readonly hook: string
  readonly range: Range
  readonly parts: readonly string[]
  /** What a number outside the range is called. */
  readonly outOfRange: FailureKind
}

const scoreKeys = ['value', 'parts', 'details', 'flags']
const isOddKey = (key: string): boolean => !scoreKeys.includes(key)
const flagCount = 32
const flagLength = 200

/** A checked copy of a verdict; throws a ContractViolation. Nothing is clamped. */
export function checkVerdict(verdict: unknown, limits: VerdictLimits): Score | null {
  if (verdict === null) return null
  if (typeof verdict === 'number') return { value: inRange(verdict, limits) }
  refusePromise(verdict, limits.hook)
  if (typeof verdict !== 'object' || !isPlain(verdict)) {
    throw new ContractViolation(`${limits.hook} returned ${nameOf(verdict)}, not a number, a score or null`)
  }
  const { value, parts, details, flags } = verdict as Partial<Record<keyof Score, unknown>>
  if (Object.keys(verdict).some(isOddKey))
    throw new ContractViolation(`a score has ${scoreKeys.join(', ')}; ${limits.hook} gave it another key`)
  if (typeof value !== 'number')
    throw new ContractViolation(`${limits.hook} returned a score whose value is ${nameOf(value)}`)
  const bounded = details === undefined ? undefined : boundedDetails(details)
  const said = flags === undefined ? [] : checkFlags(flags)
  if (bounded?.cut) said.push('details_cut')
  const checked: { -readonly [K in keyof Score]: Score[K] } = { value: inRange(value, limits) }
  if (parts !== undefined) checked.parts = checkParts(parts, limits)
  if (bounded) checked.details = bounded.details
  if (said.length > 0) checked.flags = said
  return checked
}

/** One checked verdict a row, in order. */
export function checkVerdicts(verdicts: unknown, count: number, limits: VerdictLimits): (Score | null)[] {
  refusePromise(verdicts, limits.hook)
  if (!Array.isArray(verdicts))
    throw new ContractViolation(`${limits.hook} returned ${nameOf(verdicts)}, not one verdict a row`)
  if (verdicts.length !== count) {
    throw new ContractViolation(`${limits.hook} returned ${verdicts.length} verdicts for ${count} rows`)
  }
  return Array.from(verdicts, (verdict) => checkVerdict(verdict, limits))
}

function inRange(value: number, { hook, range: [low, high], outOfRange }: VerdictLimits): number {
  if (!Number.isFinite(value)) throw new ContractViolation(`${hook} returned ${value}`, outOfRange)
  if (value < low || value > high) {
    throw new ContractViolation(`${hook} returned ${value}, outside its range ${low} to ${high}`, outOfRange)
  }
  return value + 0
}

function checkParts(parts: unknown, { hook, parts: declared }: VerdictLimits): Record<string, number> {
  if (typeof parts !== 'object' || parts === null || !isPlain(parts)) {
    throw new ContractViolation(`${hook} returned parts that are ${nameOf(parts)}`)
  }
  const checked: [string, number][] = []
  for (const [name, value] of Object.entries(parts)) {
    if (!declared.includes(name)) throw new ContractViolation(undeclared(hook, name, declared))
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new ContractViolation(`${hook} reported the part ${name} as ${nameOf(value)}`)
    }
    checked.push([name, value])
  }
  return Object.fromEntries(checked)
}

/** Names the part where it is a plain name. */
function undeclared(hook: string, name: string, declared: readonly string[]): string {
  const plain = /^[A-Za-z_][\w.-]{0,59}$/.test(name)
  const known = declared.length === 0 ? 'none' : declared.join(', ')
  return `${hook} reported ${plain ? `the part '${name}'` : 'a part'}, which its function does not declare: write its name into \`parts: [...]\` beside \`range\`, or into details (declared: ${known})`
}

function checkFlags(flags: unknown): string[] {
  if (!Array.isArray(flags) || flags.length > flagCount)
    throw new ContractViolation(`flags are at most ${flagCount} words`)
  for (const flag of flags) {
    if (typeof flag !== 'string' || flag.length > flagLength) {
      throw new ContractViolation(`a flag is text of at most ${flagLength} characters`)
    }
  }
  return [...flags]
}
