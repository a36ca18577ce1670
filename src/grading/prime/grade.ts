import { mathNormal } from '../latex/math-normal.ts'
import { symbolicallyEqual } from '../math/index.ts'
import { trimSpace } from '../white-space.ts'
import { insideText, integerLike, primeNormal, tupleElements } from './normal.ts'

/** PRIME's first opinion: equal texts after one of two normalisations, or equal expressions, element by element. */
export function primeGrade(given: string, truth: string, geometry: boolean): boolean {
  if (competitionNormal(given) === competitionNormal(truth)) return true
  const answer = primeNormal(given, geometry)
  const wanted = primeNormal(truth, geometry)
  if (answer === wanted) return true
  if (answer === '') return false
  const elements = tupleElements(wanted)
  const others = tupleElements(answer)
  if (elements.length !== others.length) return false
  if (elements.length > 1 && (answer[0] !== wanted[0] || answer.at(-1) !== wanted.at(-1))) return false
  return elements.every((element, i) => equalElements(element, others[i] ?? ''))
}

function competitionNormal(text: string): string {
  const trimmed = trimSpace(text)
  const inside = trimSpace(insideText(trimmed))
  return mathNormal(inside) ?? inside
}

const plainFraction = /^-?[0-9]+[^\n]?\/0*[1-9][0-9]*[^\n]?$/

function equalElements(wanted: string, given: string): boolean {
  if (plainFraction.test(wanted) && plainFraction.test(given)) return wanted === given
  if ((integerLike(wanted) !== null) !== (integerLike(given) !== null)) return false
  return comparable(`(${wanted})-(${given})`) && symbolicallyEqual(wanted, given, 0)
}

/** The original asks its algebra system only about expressions that cannot keep it busy. */
function comparable(difference: string): boolean {
  const letters = difference.replaceAll('sqrt', '').replaceAll('frac', '').match(/\p{L}/gu)
  if (new Set(letters).size > 2) return false
  return (
    !difference.includes('^{') && !difference.includes('^(') && !/\^[0-9]+\^|\^[0-9][0-9]+/.test(difference)
  )
}
