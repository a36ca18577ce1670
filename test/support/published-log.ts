import { metricNames, type RunMetrics } from '../../src/workbench/analysis/training-log.ts'
import { trainingSummary } from '../../src/workbench/analysis/training-summary.ts'

const number = /^(?:\d+\.?\d*|\.\d+)$/

/**
 * Reads the six metrics like the published script: unsigned numbers without exponents, the first one on a
 * line. Throws RangeError for digits and points that form no number.
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
      if (!number.test(found)) throw new RangeError(`'${found}' is not a number`)
      series[key]?.push([step, Number(found)])
    }
  }
  return series
}

/** The summary of the published script. Throws RangeError if accuracy or entropy starts at 0. */
export function publishedSummary(metrics: RunMetrics): object {
  if ([metrics.test_score, metrics.entropy_loss].some((series) => series?.[0]?.[1] === 0)) {
    throw new RangeError('a change from 0 has no percentage')
  }
  const { correlation, ...summary } = trainingSummary(metrics)
  if (!correlation) return summary
  const isConstant = correlation.value === null
  return { ...summary, correlation: isConstant ? { value: 'nan', reading: 'strong-negative' } : correlation }
}

/** The digits and points after the first `label` that has any. null if there are none. */
function firstNumber(line: string, label: string): string | null {
  for (let at = line.indexOf(label); at !== -1; at = line.indexOf(label, at + 1)) {
    const digits = /^[0-9.]+/.exec(line.slice(at + label.length, at + label.length + 400))?.[0]
    if (digits) return digits
  }
  return null
}

/** Reads digits of any script. In Unicode, the ten digits of a script are consecutive. */
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
