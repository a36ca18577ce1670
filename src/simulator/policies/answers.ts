import { createHash } from 'node:crypto'
import type { JudgePrompt } from '../judge-prompt.ts'

/** Right answers by a piece of the question's text, or by `sha256:` and the hash of the whole question, hex. */
export type Answers = Readonly<Record<string, string | number>>

/** Looks questions up in a table; what was found is remembered, within a bound. */
export class AnswerTable {
  readonly #pieces: readonly (readonly [string, string])[]
  readonly #hashes: ReadonlyMap<string, string>
  readonly #found = new Map<string, string | null>()

  constructor(answers: Answers) {
    const entries = Object.entries(answers).map(([key, value]) => [key, String(value)] as const)
    this.#hashes = new Map(entries.filter(([key]) => key.startsWith('sha256:')))
    this.#pieces = entries.filter(([key]) => !key.startsWith('sha256:'))
  }

  /** The table's answer, else the reference in the prompt, else null. */
  expected(prompt: JudgePrompt): string | null {
    return this.lookUp(prompt.question) ?? prompt.reference
  }

  /** null: not in the table. */
  lookUp(question: string): string | null {
    const known = this.#found.get(question)
    if (known !== undefined) return known
    const found = this.#pieces.find(([piece]) => question.includes(piece))?.[1] ?? this.#byHash(question)
    if (this.#found.size >= 10_000) this.#found.clear()
    this.#found.set(question, found)
    return found
  }

  #byHash(question: string): string | null {
    if (this.#hashes.size === 0) return null
    const digest = createHash('sha256').update(question.trim()).digest('hex')
    return this.#hashes.get(`sha256:${digest}`) ?? null
  }
}
