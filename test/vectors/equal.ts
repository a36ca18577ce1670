const spelled = new Map<unknown, number>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
])

/** Whether an answer is the wanted one: numbers within the tolerance, texts for what JSON cannot spell, `undefined` as null. */
export function agrees(found: unknown, wanted: unknown, tolerance: number): boolean {
  if (typeof found === 'number') return numbersAgree(found, wanted, tolerance)
  if (typeof found === 'bigint') return integersAgree(found, wanted)
  if (typeof found !== 'object' || found === null) return (found ?? null) === (wanted ?? null)
  if (typeof wanted !== 'object' || wanted === null) return false
  const a = Object.entries(found).filter(([, value]) => value !== undefined)
  const b = new Map(Object.entries(wanted))
  if (Array.isArray(found) !== Array.isArray(wanted) || a.length !== b.size) return false
  return a.every(([key, value]) => b.has(key) && agrees(value, b.get(key), tolerance))
}

function numbersAgree(found: number, wanted: unknown, tolerance: number): boolean {
  const number = spelled.get(wanted) ?? wanted
  if (typeof number !== 'number') return false
  if (Object.is(found, number) || found === number) return true
  return Math.abs(found - number) <= tolerance * Math.max(1, Math.abs(number))
}

function integersAgree(found: bigint, wanted: unknown): boolean {
  if (typeof wanted === 'number') return BigInt(Math.trunc(wanted)) === found && Number.isInteger(wanted)
  return typeof wanted === 'object' && wanted !== null && 'int' in wanted && wanted.int === String(found)
}
