import type { Failure, Json, Outcome, Term } from '../core/sample/sample.ts'
import { metricsOf } from './metrics.ts'

/** A result as /v1/score and `reward-gateway score` write it: the same keys in every row of a reward. */
export interface NativeResult {
  readonly id: string
  /** null whenever `valid` is false. */
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: Failure | null
  /** What `on_invalid` supplies, for trainers that know no 'invalid'. */
  readonly substitute: number | null
  readonly terms: Readonly<Record<string, NativeTerm>>
  /** Flat: `<term>` beside `<term>_scored` 0 or 1. null where the term or the sample failed; 0 where the term is off. */
  readonly metrics: Readonly<Record<string, number | null>>
  readonly flags: readonly string[]
}

interface NativeTerm {
  readonly status: Term['status']
  readonly score: number | null
  readonly weight: number
  readonly contribution: number | null
  readonly parts: Readonly<Record<string, number>>
  readonly details: Readonly<Record<string, Json>>
  readonly flags: readonly string[]
  readonly draws: number
  readonly spread: number
  readonly why: string | null
  readonly failure: Failure | null
}

/** The same keys for every outcome of a reward. */
export function writeNativeResult(outcome: Outcome): NativeResult {
  return {
    id: outcome.id,
    reward: outcome.valid ? outcome.reward : null,
    valid: outcome.valid,
    failure: outcome.valid ? null : outcome.failure,
    substitute: outcome.valid ? null : outcome.substitute,
    terms: Object.fromEntries(outcome.terms.map((term) => [term.name, writeTerm(term)])),
    metrics: metricsOf(outcome),
    flags: outcome.flags,
  }
}

const nothing = { score: null, contribution: null, parts: {}, details: {}, flags: [], draws: 0, spread: 0 }

/** A term as it stands in a result, without its name. */
export function writeTerm(term: Term): NativeTerm {
  const { status, weight } = term
  switch (status) {
    case 'scored': {
      const { value, parts = {}, details = {}, flags = [] } = term.score
      const { draws, spread, contribution } = term
      return {
        status,
        score: value,
        weight,
        contribution,
        parts,
        details,
        flags,
        draws,
        spread,
        why: null,
        failure: null,
      }
    }
    case 'text':
      return { ...nothing, status, weight, draws: term.texts.length, why: null, failure: null }
    case 'off':
      return { ...nothing, status, weight, why: term.why, failure: null }
    case 'failed':
      return { ...nothing, status, weight, why: term.failure.kind, failure: term.failure }
  }
}
