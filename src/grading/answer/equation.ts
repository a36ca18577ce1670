import { equalFractions, type Fraction, fractions } from '../arithmetic.ts'
import { arithmetic, plainNumber } from './calculation.ts'

/** Equations as people write them in prose: what a chain is about, and which value it comes to. */

/** What names a value by what it is of: `f(-3)`, `gcd(252, 198)`, `P(X = 7)`. An unknown before a bracket is a factor. */
const application = /(?:\p{L}{2,}|(?<!\p{L})(?![xznkm](?!\p{L}))\p{L})['′]?\s?(\([^()]{0,80}\))/gu
/** A function of one number, `sqrt(49)`: the number is not its value. */
const valued = /^\p{L}{2,}['′]?\s?\([\d.,\s]*\)$/u
const equality = /=|≈|\bequals\b/
const operator = /[-+*/×÷·⋅^]/
/** A factor, a term or a power in letters, and no word that joins two equations. */
const inNames = /^(?!.*\b(?:and|or|so|then|but|if|when|not)\b)[^,;:]*$/iu
/** Units behind a number are no names: `30 L / (5 L/min)`. */
const ofUnits = /\d\s(?:L|l|m|g|s|h|N|J|W|V|km|cm|kg)(?![\p{L}])/u
const letter = /(?<![\p{L}])\p{L}(?![\p{L}])|\d\p{L}|\\/u
/** Words as an operand: `Area / 2`, `2 × price`. Behind a number they are what it counts. */
const wordAsOperand =
  /(?:^|[-+*/×÷·(])\s*\p{L}{2}[\p{L}\s]{0,40}[-+*/×÷·^]\s*\(?\d|\d[\s)]*[-+*×÷·]\s*\(?\p{L}{2}[\p{L}\s]*(?:$|[-+*/×÷·)])/u
/** What leads to an equation in the same clause: "Divide by 5: x = 11". */
const leadingWords = /^.*[:：]\s(?=\s*[*_$(]*\p{L}[*_$)]*\s*$)/su
const hundred: Fraction = { numerator: 100n, denominator: 1n }
const firstNumber = new RegExp(plainNumber, 'u')

/**
 * Where the last side of an equation starts. 0: no equation. null: the equation is false, or restates a
 * question: a side has a letter beside its numbers, and no name before it or calculation behind it says of what.
 *
 * `worthOf`: the value of a side that is no calculation. `known`: the values of unknowns that the text has found before.
 */
export function equationBefore(
  clause: string,
  worthOf: (side: string) => Fraction | null,
  known: ReadonlyMap<string, string> = new Map(),
): number | null {
  const start = /^[\s#>*-]+(?=\d)/.exec(clause)?.[0].length ?? 0
  const shown = masked(clause.slice(start))
  if (!equality.test(shown)) return 0
  const sides = shown.split(equality)
  const last = clause.slice(clause.length - (sides.at(-1) ?? '').length)
  if (!firstNumber.test(last) || /[<>≤≥≠!]|[~¬≅]\s*=/.test(shown.replace(/!\s*$/, ''))) return null
  const value = arithmetic(last) ?? worthOf(last)
  const earlier = sides.slice(0, -1).map((side) => side.replace(leadingWords, ''))
  const worths = earlier.map((side) => (/\d/.test(side) ? arithmetic(withValues(side, known)) : null))
  const isNamed = !/\d/.test(earlier[0] ?? '') && !operator.test(earlier[0] ?? '')
  const isWorked = worths.some((worth, at) => worth !== null && operator.test(earlier[at] ?? ''))
  for (const [at, side] of earlier.entries()) {
    if (!/\d/.test(side)) {
      if (at > 0 || isNamed || isWorked || !operator.test(side) || /\p{L}/u.test(side)) continue
      return null
    }
    if (/^[\s$*(]*\p{L}+_?\d+\s*$/u.test(side)) continue
    const worth = worths[at] ?? null
    if (worth === null) {
      if (ofUnits.test(side) || ((isNamed || isWorked) && inNames.test(side))) continue
      if (!/\p{L}{2}/u.test(side) || wordAsOperand.test(side)) return null
      // Words may count things: "6 crates * 7 jars". A letter makes a question of it.
      if (letter.test(side.replace(/\b[aA]\b(?=\s)/g, ''))) return null
      continue
    }
    const share = value !== null && /%/.test(last) ? fractions.divide(value, hundred) : null
    if (share !== null && equalFractions(worth, share)) continue
    if (value === null || !roundsTo(worth, value, side, last)) return null
  }
  return clause.length - last.length
}

const assignment = /(?<![\p{L}\d])([a-zA-Z])\s?=\s?(-?\d+(?:\.\d+)?)(?![\d.]*\d|\s?[-+*/×·^(=\p{L}])/gu

/** The values that a text has found for its unknowns. */
export const valuesIn = (text: string): ReadonlyMap<string, string> =>
  new Map(Array.from(text.slice(-2000).matchAll(assignment), ([, name = '', value = '']) => [name, value]))

/** A side with the values of the unknowns in it. */
const withValues = (side: string, known: ReadonlyMap<string, string>): string =>
  known.size === 0
    ? side
    : side.replace(/(?<!\p{L})[a-zA-Z](?!\p{L})/gu, (letter) =>
        known.has(letter) ? `(${known.get(letter)})` : letter,
      )

/** A clause with letters for what stands in the brackets of a name: it is no side of the equation. */
const masked = (clause: string): string =>
  clause.includes('(')
    ? clause.replace(application, (all, inner: string) =>
        /≠|!=/.test(inner) || (arithmetic(all) !== null && !valued.test(all))
          ? all
          : `${all.slice(0, all.length - inner.length)}${'o'.repeat(inner.length)}`,
      )
    : clause

/** Whether a side's value is the answer, or is what the answer rounds: `100/3 = 33.3`. */
function roundsTo(of: Fraction, answer: Fraction, side: string, last: string): boolean {
  if (equalFractions(of, answer)) return true
  // A fraction is exact.
  if (!/[/÷.×*]/.test(side) || /\d\s?\/\s?\d/.test(last)) return false
  const places = /\.(\d+)/.exec(last)?.[1]?.length ?? 0
  const [x, y] = [
    Number(of.numerator) / Number(of.denominator),
    Number(answer.numerator) / Number(answer.denominator),
  ]
  return Math.abs(x - y) <= 0.500001 * 10 ** -places
}
