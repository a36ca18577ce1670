import type { Failure, Json, Outcome, StepReward, Term } from '../core/sample/sample.ts'

/** A result of /v1/score and `reward-gateway score`. Every row of a reward has the same keys, apart from `steps`. */
export interface NativeResult {
  readonly id: string
  /** null whenever `valid` is false. */
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: Failure | null
  /** What `on_invalid` supplies, for trainers that need a number. */
  readonly substitute: number | null
  readonly terms: Readonly<Record<string, NativeTerm>>
  /** See `metricsOf`. */
  readonly metrics: Readonly<Record<string, number | null>>
  readonly flags: readonly string[]
  /** Rewards of parts of the rollout, by term. Absent if no term has any, or if the sample is not valid. */
  readonly steps?: Readonly<Record<string, readonly StepReward[]>>
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
    ...stepsMember(outcome),
  }
}

/** The member `steps` of a reply; nothing if no term has steps, or if the sample is not valid. */
export function stepsMember({ valid, terms }: Outcome): Pick<NativeResult, 'steps'> {
  if (!valid || !terms.some(hasSteps)) return {}
  return {
    steps: Object.fromEntries(
      terms.flatMap((term) =>
        term.status === 'scored' && term.score.steps ? [[term.name, term.score.steps]] : [],
      ),
    ),
  }
}

const hasSteps = (term: Term): boolean => term.status === 'scored' && term.score.steps !== undefined

const noScore = { score: null, contribution: null, parts: {}, details: {}, flags: [], draws: 0, spread: 0 }

function writeTerm(term: Term): NativeTerm {
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
      return { ...noScore, status, weight, draws: term.texts.length, why: null, failure: null }
    case 'off':
      return { ...noScore, status, weight, why: term.why, failure: null }
    case 'failed':
      return { ...noScore, status, weight, why: term.failure.kind, failure: term.failure }
  }
}

/**
 * Flat metrics: `<term>`, and `<term>_scored` as 0 or 1. Every sample of a reward has the same keys. A number is null
 * if the term or its sample failed. It is 0 if a valid sample's term is off, because that term pays nothing.
 */
export function metricsOf(outcome: Outcome): Record<string, number | null> {
  const metrics: Record<string, number | null> = {}
  for (const term of outcome.terms) {
    metrics[term.name] = metricOf(outcome, term)
    metrics[`${term.name}_scored`] = term.status === 'scored' ? 1 : 0
  }
  return metrics
}

function metricOf({ valid }: Outcome, term: Term): number | null {
  if (term.status === 'scored') return term.score.value
  return valid && term.status !== 'failed' ? 0 : null
}

/**
 * The JSON text of writeNativeResult(outcome), built from pieces: building its objects first costs a batch of rules 9 % more
 * (`npm run against`). It stays, small as it is: see Speed in docs/architecture.md. Names of steps need no escapes.
 */
export function nativeResultText(outcome: Outcome): string {
  let terms = ''
  let metrics = ''
  for (const term of outcome.terms) {
    const { name } = term
    if (terms !== '') {
      terms += ','
      metrics += ','
    }
    terms += `"${name}":${term.status === 'scored' ? scoredText(term) : JSON.stringify(writeTerm(term))}`
    metrics += `"${name}":${numberText(metricOf(outcome, term))},"${name}_scored":${term.status === 'scored' ? 1 : 0}`
  }
  const verdict = outcome.valid
    ? `"reward":${numberText(outcome.reward)},"valid":true,"failure":null,"substitute":null`
    : `"reward":null,"valid":false,"failure":${JSON.stringify(outcome.failure)},"substitute":${numberText(outcome.substitute)}`
  return `{"id":${JSON.stringify(outcome.id)},${verdict},"terms":{${terms}},"metrics":{${metrics}},"flags":${flagsText(outcome.flags)}${stepsText(outcome)}}`
}

/** The JSON text of the member `terms` of a result that has only these terms. */
export const nativeTermsText = (terms: readonly Term[]): string =>
  JSON.stringify(Object.fromEntries(terms.map((term) => [term.name, writeTerm(term)])))

function stepsText(outcome: Outcome): string {
  const { steps } = stepsMember(outcome)
  return steps ? `,"steps":${JSON.stringify(steps)}` : ''
}

function scoredText(term: Extract<Term, { status: 'scored' }>): string {
  const { value, parts, details, flags } = term.score
  const numbers = `"score":${numberText(value)},"weight":${numberText(term.weight)},"contribution":${numberText(term.contribution)}`
  const rest = `"parts":${objectText(parts)},"details":${objectText(details)},"flags":${flagsText(flags)}`
  return `{"status":"scored",${numbers},${rest},"draws":${numberText(term.draws)},"spread":${numberText(term.spread)},"why":null,"failure":null}`
}

/** Equals JSON.stringify. */
const numberText = (value: number | null): string => (Number.isFinite(value) ? `${value}` : 'null')

const objectText = (object: object | undefined): string => (object ? JSON.stringify(object) : '{}')

const flagsText = (flags: readonly string[] = []): string =>
  flags.length === 0 ? '[]' : JSON.stringify(flags)
