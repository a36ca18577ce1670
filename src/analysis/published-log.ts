import { metricNames, type RunMetrics } from './training-log.ts'

const number = /^(?:\d+\.?\d*|\.\d+)$/

/**
 * The six metrics as the published script reads them: unsigned numbers without exponents, the first of a line. Throws
 * RangeError on a text of digits and points that is no number.
 */
export function readPublishedLog(text: string): RunMetrics {
  const series = Object.fromEntries(
    Object.keys(metricNames).map((key) => [key, [] as (readonly [number, number])[]]),
  )
  for (const line of text.split(/\r\n|[\r\n]/)) {
    const digits = /step:(\p{Nd}+)/u.exec(line)?.[1]
    if (digits === undefined) continue
    const step = decimal(digits)
    for (const [key, name] of Object.entries(metricNames)) {
      const found = firstNumber(line, `${name}:`)
      if (found === null) continue
      if (!number.test(found)) throw new RangeError(`'${found}' is no number`)
      series[key]?.push([step, Number(found)])
    }
  }
  return series
}

/** Digits and points behind the first `label` that has any; null: none has. */
function firstNumber(line: string, label: string): string | null {
  for (let at = line.indexOf(label); at !== -1; at = line.indexOf(label, at + 1)) {
    const digits = /^[0-9.]+/.exec(line.slice(at + label.length, at + label.length + 400))?.[0]
    if (digits) return digits
  }
  return null
}

/** Digits of any script: each script has its ten in a row, from a zero on. */
function decimal(digits: string): number {
  let value = 0
  for (const digit of digits) {
    const code = digit.codePointAt(0) ?? 0
    let zero = code
    while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
    value = value * 10 + (code - zero)
  }
  return value
}
