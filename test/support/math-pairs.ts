import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A truth and an answer, and whether they are equal. */
export interface MathPair {
  readonly section: string
  readonly truth: string
  readonly answer: string
  readonly equal: boolean
}

/** The pairs of fixtures/math-pairs.txt: `truth == answer` or `truth != answer`, one a line, under headings. */
export function mathPairs(): MathPair[] {
  const pairs: MathPair[] = []
  let section = ''
  for (const line of readFileSync(join('test/fixtures/math-pairs.txt'), 'utf8').split('\n')) {
    if (line.startsWith('# ')) section = line.slice(2)
    const [truth, sign, answer] = line.split(/\s+(==|!=)\s+/)
    if (truth && sign && answer) pairs.push({ section, truth, answer, equal: sign === '==' })
  }
  return pairs
}
