/**
 * Formats a number with fixed decimals like Python: from its exact binary value, ties to even, with `nan` and
 * `inf`.
 */
export function fixed(value: number, decimals: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  // toFixed rounds ties up. A hundred decimals show every tie and the lower neighbour.
  const exact = value.toFixed(100)
  const cut = exact.length - 100 + decimals
  const down = exact.slice(0, decimals === 0 ? cut - 1 : cut)
  const isTie = /^50*$/.test(exact.slice(cut))
  return isTie && Number(down.at(-1)) % 2 === 0 ? down : value.toFixed(decimals)
}

/** Formats a share as percent. */
export const percent = (share: number, decimals = 2): string => `${fixed(share * 100, decimals)}%`
