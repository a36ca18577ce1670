/** The value of a step, or of one of its parts; null: the step has no score. */
export type Lookup = (step: string, part: string | null) => number | null

/** `error`: why there is no value, one sentence (a division by zero, a step without a score). */
export type Evaluated<V> = { readonly value: V } | { readonly error: string }

/** A compiled gate, `when` or formula. Pure; costs no more than its length. */
export interface Expression<V extends number | boolean = number | boolean> {
  readonly source: string
  /** The steps that it names, each once. */
  readonly steps: readonly string[]
  /** A number is always finite. */
  evaluate(lookup: Lookup): Evaluated<V>
}

/** A step that an expression may name (`parts: null`: not known, so any is accepted), or why it may not. */
export type KnownStep = { readonly parts: readonly string[] | null } | { readonly refused: string }

/** By name. */
export type KnownSteps = ReadonlyMap<string, KnownStep>

/** A compiled expression, or every mistake in its text. */
export type Compiled<V extends number | boolean> =
  /** `guarded`: the steps that it asks `scored()` of. */
  | { readonly expression: Expression<V>; readonly guarded: ReadonlySet<string> }
  | { readonly mistakes: readonly string[] }
