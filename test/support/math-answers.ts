import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A truth and the text of one answer to it. */
export interface MathAnswer {
  readonly family: string
  readonly truth: string
  readonly answer: string
}

/** The rows of fixtures/math-answers: `truth :: answer`, one a line, under headings; `\\u{...}` is a character. */
export function mathAnswers(kind: 'wrong' | 'right'): MathAnswer[] {
  const rows: MathAnswer[] = []
  let family = ''
  for (const line of readFileSync(join('test/fixtures/math-answers', `${kind}.txt`), 'utf8').split('\n')) {
    if (line.startsWith('# ')) family = line.slice(2)
    const [truth, answer] = line.split(' :: ').map(unescaped)
    if (truth && answer) rows.push({ family, truth, answer })
  }
  return rows
}

const unescaped = (text: string): string =>
  text.replace(/\\u\{([0-9a-f]+)\}/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16)))
