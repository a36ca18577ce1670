/** A number with this many decimals: its exact binary value, ties to even, as Python formats it; `nan` and `inf` too. */
export function fixed(value: number, decimals: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  const rounded = value.toFixed(decimals)
  // toFixed takes the larger of two equally near texts; a hundred decimals show every tie.
  if (!/^-?\d+\.\d*50*$/.test(value.toFixed(100)) || !isTie(value, decimals)) return rounded
  const down = `${Math.trunc(Math.abs(value) * 10 ** decimals)}`
  const isEven = Number(down.at(-1)) % 2 === 0
  return isEven ? withPoint(down, decimals, value < 0) : rounded
}

/** A share as percent with this many decimals. */
export const percent = (share: number, decimals = 2): string => `${fixed(share * 100, decimals)}%`

const isTie = (value: number, decimals: number): boolean =>
  /^50*$/.test(value.toFixed(100).split('.')[1]?.slice(decimals) ?? '')

function withPoint(digits: string, decimals: number, isNegative: boolean): string {
  const padded = digits.padStart(decimals + 1, '0')
  const whole = padded.slice(0, padded.length - decimals)
  const text = decimals > 0 ? `${whole}.${padded.slice(-decimals)}` : whole
  return isNegative ? `-${text}` : text
}
