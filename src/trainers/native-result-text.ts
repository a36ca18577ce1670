import type { Outcome, Term } from '../core/sample/sample.ts'
import { metricOf } from './metrics.ts'
import { writeTerm } from './native-result.ts'

/**
 * The JSON text of writeNativeResult(outcome), put together from pieces: the objects between an outcome and its text
 * cost as much as the text. Names of steps are plain words, which need no escapes.
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
  return `{"id":${JSON.stringify(outcome.id)},${verdict},"terms":{${terms}},"metrics":{${metrics}},"flags":${flagsText(outcome.flags)}}`
}

function scoredText(term: Extract<Term, { status: 'scored' }>): string {
  const { value, parts, details, flags } = term.score
  const numbers = `"score":${numberText(value)},"weight":${numberText(term.weight)},"contribution":${numberText(term.contribution)}`
  const rest = `"parts":${objectText(parts)},"details":${objectText(details)},"flags":${flagsText(flags)}`
  return `{"status":"scored",${numbers},${rest},"draws":${numberText(term.draws)},"spread":${numberText(term.spread)},"why":null,"failure":null}`
}

/** As JSON.stringify has it. */
const numberText = (value: number | null): string => (Number.isFinite(value) ? `${value}` : 'null')

const objectText = (object: object | undefined): string => (object ? JSON.stringify(object) : '{}')

const flagsText = (flags: readonly string[] = []): string =>
  flags.length === 0 ? '[]' : JSON.stringify(flags)
