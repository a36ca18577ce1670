import type { FailureKind } from '../../../core/sample/sample.ts'

/** Thrown by the checks on what an author's code returned. The message is public: it never quotes the sample. */
export class ContractViolation extends Error {
  readonly kind: FailureKind | null

  /** `kind` null: the general kind of the call (rule_error or function_error). */
  constructor(message: string, kind: FailureKind | null = null) {
    super(message)
    this.kind = kind
  }
}

/** Names what a value is, for a message, without any of its content. */
export function nameOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value)
  if (typeof value !== 'object') return typeof value
  return 'then' in value && typeof value.then === 'function' ? 'a promise' : 'an object'
}

/** Refuses a promise with the reason; a later rejection of it is nobody's. */
export function refusePromise(value: unknown, hook: string): void {
  if (nameOf(value) !== 'a promise') return
  Promise.resolve(value).catch(() => {})
  throw new ContractViolation(`${hook} returned a promise: reward functions are synchronous`)
}
