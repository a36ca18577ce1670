/** At most three decimals, without trailing zeros; '–' if there is no number. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6 || size < 5e-5) return value.toExponential(1)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1e-3 ? 3 : 4
  const text = value.toFixed(digits)
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/** The same number of decimals in every row, for columns. */
export const fixed = (value: number | null | undefined, digits = 3): string =>
  value === null || value === undefined
    ? '–'
    : Math.abs(value) >= 1e6
      ? value.toExponential(1)
      : value.toFixed(digits)

/** 1,234 or 12.3 k. */
export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString('en-US')
  if (value < 1e6) return `${(value / 1e3).toFixed(1)} k`
  return `${(value / 1e6).toFixed(1)} M`
}

/** A count with its noun, in singular or plural. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`

/** A fraction in percent. */
export function percent(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return '–'
  const value = share * 100
  return `${value !== 0 && Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`
}

/** Milliseconds in a readable unit. */
export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`
  return ms < 172_800_000 ? `${(ms / 3_600_000).toFixed(1)} h` : `${(ms / 86_400_000).toFixed(1)} d`
}

/** Bytes in a readable unit. */
export function bytes(value: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = value < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10))
  return `${figure(value / 1024 ** power)} ${units[power]}`
}

/** Time of day with seconds. */
export const clockTime = (at: number): string => new Date(at).toLocaleTimeString('en-GB')

/** Time of day without seconds. */
export const shortTime = (at: number): string => clockTime(at).slice(0, 5)
