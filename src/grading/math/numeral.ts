import { OverBudget } from './budget.ts'
import { type Expression, number } from './expression.ts'
import { add, decimal, multiply, power, rational } from './rational.ts'
import type { Token } from './tokens.ts'

const ten = rational(10n)

/** The number of a token, exactly: `1.50` is 3/2 with 2 decimals, `4.2e1` is 42, `0.(3)` is 1/3. */
export function decimalValue({ text, repeating }: Token): Expression {
  const [mantissa = '', exponent = ''] = text.toLowerCase().split('e')
  const value = decimal(mantissa)
  const places = mantissa.includes('.') ? mantissa.length - mantissa.indexOf('.') - 1 : 0
  if (repeating !== undefined) {
    if (repeating.length > 50) throw new OverBudget()
    const period = rational(BigInt(repeating), (10n ** BigInt(repeating.length) - 1n) * 10n ** BigInt(places))
    return number(add(value, period))
  }
  if (exponent === '') return number(value, mantissa.includes('.') ? places : null)
  const shift = Number(exponent)
  const scaled = multiply(value, power(ten, shift) ?? ten)
  return number(scaled, places - shift > 0 ? places - shift : null)
}
