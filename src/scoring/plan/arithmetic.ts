import type { Term } from '../../core/sample/sample.ts'
import type { Plan } from './plan.ts'

/** How a fold computes: its rounding, its start, its two operations, and what a term counts as. */
export interface Arithmetic {
  rounded(value: number): number
  started(weight: number, score: number): number
  readonly combined: Readonly<Record<'add' | 'mul', (value: number, weight: number, score: number) => number>>
  /** null: the term leaves the value untouched. */
  scoreOf(term: Term): number | null
}

const { fround } = Math

/**
 * `strict`: double precision. `published`: as VeRL-with-RMs computes, float32 after every operation, `mul` from left to
 * right, and a term behind a closed gate counts as score 0.
 */
export const arithmetics: Readonly<Record<Plan['arithmetic'], Arithmetic>> = {
  strict: {
    rounded: (value) => value,
    started: (weight, score) => weight * score,
    combined: {
      add: (value, weight, score) => value + weight * score,
      mul: (value, weight, score) => value * (weight * score),
    },
    scoreOf: (term) => (term.status === 'scored' ? term.score.value : null),
  },
  published: {
    rounded: fround,
    started: (weight, score) => fround(fround(weight) * fround(score)),
    combined: {
      add: (value, weight, score) => fround(value + fround(fround(weight) * fround(score))),
      mul: (value, weight, score) => fround(fround(value * fround(weight)) * fround(score)),
    },
    scoreOf: (term) => {
      if (term.status === 'scored') return term.score.value
      return term.status === 'off' && term.why === 'gate' ? 0 : null
    },
  },
}
