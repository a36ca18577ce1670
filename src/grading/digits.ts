const digit = /\p{Nd}/u

/** What was found out; there are fewer than a thousand digits. */
const values = new Map<string, number>()

/** A text of Unicode decimal digits (`１`, `١`, `𝟒`) in ASCII; other characters stay. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (found) => (found >= '0' && found <= '9' ? found : `${digitValue(found)}`))
}

/** Digits stand in runs of ten from zero to nine (the mathematical ones in five such runs without a gap). */
function digitValue(found: string): number {
  const known = values.get(found)
  if (known !== undefined) return known
  const code = found.codePointAt(0) ?? 0
  let before = code
  while (digit.test(String.fromCodePoint(before - 1))) before--
  const value = (code - before) % 10
  values.set(found, value)
  return value
}

/** Python reads no longer text as an integer. */
export const maxIntegerDigits = 4300
