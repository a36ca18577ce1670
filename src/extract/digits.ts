const digit = /\p{Nd}/u

/** A text of Unicode decimal digits (`１`, `١`, `𝟒`) in ASCII; other characters stay. */
export function asciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, (found) => (found >= '0' && found <= '9' ? found : `${digitValue(found)}`))
}

/** Digits stand in runs of ten from zero to nine (the mathematical ones in five such runs without a gap). */
function digitValue(found: string): number {
  const code = found.codePointAt(0) ?? 0
  let before = code
  while (digit.test(String.fromCodePoint(before - 1))) before--
  return (code - before) % 10
}

/** Python reads no longer text as an integer. */
export const maxIntegerDigits = 4300
