import { createHash } from 'node:crypto'
import type { Findings } from './finding.ts'
import type { Item } from './item.ts'

/** Rows that stand more than once, in one file or in several, and prompts with more than one truth. */
export class Repeats {
  readonly #findings: Findings
  readonly #known = new Map<string, string>()

  constructor(findings: Findings) {
    this.#findings = findings
  }

  look({ place, sample: { prompt, groundTruth, extraInfo } }: Item): void {
    if (prompt.length === 0) return
    const asked = hashOf(prompt)
    const truth = hashOf([groundTruth, extraInfo.graph ?? null, extraInfo.exact_answer ?? null])
    const before = this.#known.get(asked)
    if (before === undefined) this.#known.set(asked, truth)
    else if (before === truth) this.#findings.add('repeated-row', 'the row stands before it already', place)
    else
      this.#findings.add(
        'conflicting-rows',
        'a row before it has the same prompt and another ground truth',
        place,
      )
  }
}

const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64').slice(0, 22)
