const number = /[-−]?\d[\d,]*(?:\.\d+)?/gu

/** The number that an answer ends with: after `####`, in the last `\boxed{}`, else the last one; null for none. */
export function finalNumber(text: string): number | null {
  const marked = text.lastIndexOf('####')
  if (marked >= 0) return numbersIn(text.slice(marked, marked + 200))[0] ?? null
  const boxed = text.lastIndexOf('\\boxed{')
  if (boxed >= 0) return numbersIn(text.slice(boxed, boxed + 200))[0] ?? null
  return numbersIn(text.slice(-2000)).at(-1) ?? null
}

/** A text that is one number, thousands separators and currency signs aside; null for any other. */
export function readNumber(text: string): number | null {
  const plain = text.replace(/[\s,$€£%]/gu, '').replace('−', '-')
  const value = plain === '' ? Number.NaN : Number(plain)
  return Number.isFinite(value) ? value : null
}

function numbersIn(text: string): number[] {
  return [...text.matchAll(number)].flatMap(([found]) => readNumber(found) ?? [])
}
