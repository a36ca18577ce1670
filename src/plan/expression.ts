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
