import { children, type Expression } from './expression.ts'

const signs = [
  ['dollar', /\\\$|US\$|\bUSD\b/],
  ['euro', /€|\bEUR\b/],
  ['sterling', /£|\bGBP\b/],
  ['yuan', /¥|\bRMB\b/],
  ['rupee', /₹/],
  ['cent', /¢|\\cents?(?![a-z])/],
] as const

const currencies: ReadonlySet<string> = new Set(signs.map(([currency]) => currency))
const written = /\\\$|[€£¥₹¢]|\\cent|USD|EUR|GBP|RMB/

/** Whether a text names money by a sign or a code. Dollar signs in pairs delimit mathematics. */
export const namesMoney = (text: string): boolean =>
  written.test(text) || (text.includes('$') && text.split('$').length % 2 === 0)

/** Whether an answer names a unit that the truth lacks, where both name some and money is among them. */
export function isOtherMoney(
  truth: string,
  gold: Expression | undefined,
  answer: string,
  read: Expression | undefined,
): boolean {
  const [want, have] = [unitsOf(truth, gold), unitsOf(answer, read)]
  const isMoney = want.size > 0 && [...want, ...have].some((unit) => currencies.has(unit))
  return isMoney && [...have].some((unit) => !want.has(unit))
}

/** The units in an answer and the currencies that its text names. */
function unitsOf(text: string, of: Expression | undefined): ReadonlySet<string> {
  const found = new Set(of === undefined ? [] : measures(of))
  for (const [currency, sign] of signs) if (sign.test(text)) found.add(currency)
  if (text.replace(/\\\$/g, '').split('$').length % 2 === 0) found.add('dollar')
  return found
}

function measures(of: Expression): readonly string[] {
  const inner = children(of).flatMap(measures)
  if (of.kind === 'percent' || of.kind === 'degrees') return [of.kind, ...inner]
  return of.kind === 'measured' && of.unit !== '' ? [of.unit, ...inner] : inner
}
