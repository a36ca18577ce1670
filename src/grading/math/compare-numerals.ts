import { budget } from './budget.ts'
import type { Decision } from './decision.ts'
import type { Expression } from './expression.ts'

/** Digits of another base by value; a truth of another base also takes its digits alone, the base being the question's. */
export function equalNumerals(gold: Expression, answer: Expression): Decision | null {
  if (gold.kind === 'numeral' && answer.kind !== 'numeral') {
    const isWhole = answer.kind === 'number' && answer.decimals === null && answer.value.d === 1n
    return isWhole && `${answer.value.n}` === gold.digits ? 'exact' : null
  }
  const [want, have] = [wholeValue(gold), wholeValue(answer)]
  return want !== null && want === have ? 'exact' : null
}

function wholeValue(of: Expression): bigint | null {
  if (of.kind === 'number') return of.value.d === 1n ? of.value.n : null
  if (of.kind !== 'numeral' || of.digits.length > budget.digits) return null
  let value = 0n
  for (const digit of of.digits) {
    if (Number(digit) >= of.base) return null
    value = value * BigInt(of.base) + BigInt(digit)
  }
  return value
}
