/** A fraction in lowest terms with a positive denominator, and the expression that makes it. */
interface Made {
  readonly n: number
  readonly d: number
  readonly text: string
}

/** Combinations that are tried before the search gives up: enough for five numbers, and for most puzzles of six. */
const patience = 1_000_000

/** An expression of all numbers with the target as its value; null: there is none; `unknown`: the search was too long. */
export function solve(target: number, numbers: readonly number[]): string | null | 'unknown' {
  let left = patience
  const failed = new Set<string>()
  const search = (made: readonly Made[]): string | null => {
    const [first, second] = made
    if (first && !second) return first.d === 1 && first.n === target ? first.text : null
    const key = made
      .map(({ n, d }) => `${n}/${d}`)
      .sort()
      .join()
    if (failed.has(key)) return null
    for (const [i, a] of made.entries()) {
      for (const [j, b] of made.entries()) {
        if (j <= i) continue
        const rest = made.filter((_, at) => at !== i && at !== j)
        for (const one of combinations(a, b)) {
          if (--left < 0) return null
          const found = search([...rest, one])
          if (found !== null) return found
        }
      }
    }
    failed.add(key)
    return null
  }
  const found = search(numbers.map((n) => ({ n, d: 1, text: String(n) })))
  return found ?? (left < 0 ? 'unknown' : null)
}

function combinations(a: Made, b: Made): readonly Made[] {
  const made = (n: number, d: number, text: string): Made[] => {
    const divisor = commonDivisor(Math.abs(n), d)
    // What a double cannot carry exactly is left out.
    return Number.isSafeInteger(n) && Number.isSafeInteger(d)
      ? [{ n: n / divisor, d: d / divisor, text }]
      : []
  }
  const divided = (x: Made, y: Made): Made[] => {
    const sign = Math.sign(y.n)
    return sign === 0 ? [] : made(sign * x.n * y.d, x.d * Math.abs(y.n), `(${x.text} / ${y.text})`)
  }
  return [
    ...made(a.n * b.d + b.n * a.d, a.d * b.d, `(${a.text} + ${b.text})`),
    ...made(a.n * b.n, a.d * b.d, `(${a.text} * ${b.text})`),
    ...made(a.n * b.d - b.n * a.d, a.d * b.d, `(${a.text} - ${b.text})`),
    ...made(b.n * a.d - a.n * b.d, a.d * b.d, `(${b.text} - ${a.text})`),
    ...divided(a, b),
    ...divided(b, a),
  ]
}

function commonDivisor(a: number, b: number): number {
  let [x, y] = [a, b]
  while (y !== 0) [x, y] = [y, x % y]
  return x || 1
}
