import { children, type Expression } from './expression.ts'

const signs = [
  ['dollar', /\\\$|US\$|\bUSD\b/],
  ['euro', /€|\bEUR\b/],
  ['sterling', /£|\bGBP\b/],
  ['yuan', /¥|\bRMB\b/],
  ['rupee', /₹/],
  ['cent', /¢|\\cents?(?![a-z])/],
] as const

const hint = /[$€£¥₹¢]|\\cent|[A-Z]{3}/
const currencies: ReadonlySet<string> = new Set(signs.map(([currency]) => currency))

/** The units in an answer and the currencies that its text names. */
export function unitsOf(text: string, of: Expression | null): ReadonlySet<string> {
  const head = text.slice(0, 4000)
  const found = new Set(of === null ? [] : measures(of))
  if (!hint.test(head)) return found
  for (const [currency, sign] of signs) if (sign.test(head)) found.add(currency)
  // Dollar signs in pairs delimit mathematics.
  if (head.replace(/\\\$/g, '').split('$').length % 2 === 0) found.add('dollar')
  return found
}

/** Whether an answer names a unit that the truth lacks, where both name some and money is among them. */
export function hasOtherMoney(truth: ReadonlySet<string>, answer: ReadonlySet<string>): boolean {
  if (truth.size === 0 || answer.size === 0) return false
  return (
    [...truth, ...answer].some((unit) => currencies.has(unit)) && [...answer].some((unit) => !truth.has(unit))
  )
}

function measures(of: Expression): readonly string[] {
  const inner = children(of).flatMap(measures)
  if (of.kind === 'percent' || of.kind === 'degrees') return [of.kind, ...inner]
  return of.kind === 'measured' && of.unit !== '' ? [of.unit, ...inner] : inner
}
