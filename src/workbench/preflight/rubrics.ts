/** How the rubrics of a data set are read, and what they will cost. */

import type { Json } from '../../core/sample/sample.ts'
import { type Criterion, type Rubric, rubricOf } from '../../grading/index.ts'
import type { Plan } from '../../scoring/plan/plan.ts'
import type { Findings } from './finding.ts'
import type { Item } from './row-checks.ts'

const readers = ['rubric-decisions', 'rubric-judge', 'rubric-judge-group']

/** Whether a step of the reward judges by the rubrics of the rows. */
export const readsRubrics = ({ steps }: Plan): boolean =>
  steps.some((step) => readers.includes(step.function.name))

/** Looks at the rubric of each row, if a step of the reward judges by it. Rubrics that cannot be read fail their questions. */
export class RubricCheck {
  readonly #steps: readonly { readonly name: string; readonly isPublished: boolean }[]
  readonly #findings: Findings

  constructor({ steps }: Plan, findings: Findings) {
    this.#steps = steps
      .filter((step) => readers.includes(step.function.name))
      .map(({ name, function: { options } }) => ({ name, isPublished: isPublished(options) }))
    this.#findings = findings
  }

  look({ sample, place }: Item): void {
    for (const { name, isPublished } of this.#steps) {
      const rubric = rubricOf(sample)
      if ('problem' in rubric) continue
      this.#findings.add('rubric', `step ${name}: ${outlineOf(rubric)}`, place)
      for (const message of [...oddities(rubric), ...(isPublished ? [] : unreadIn(rubric))])
        this.#findings.add('odd-rubric', `step ${name}: ${message}`, place)
    }
  }
}

const isPublished = (options: Json): boolean =>
  (options as { readonly mode?: unknown } | null)?.mode === 'published'

/** Published code reads other fields than the gateway does. */
const unreadIn = ({ unread }: Rubric): readonly string[] =>
  unread.length === 0
    ? []
    : [`fields of its criteria that nothing reads: ${unread.map((name) => JSON.stringify(name)).join(', ')}`]

/** Rows of one outline are reported together. */
function outlineOf({ form, criteria }: Rubric): string {
  const { length } = criteria
  const size = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].find((most) => length <= most) ?? length
  const from = size <= 2 ? size : size / 2 + 1
  const count = from === size ? `${size}` : `${from} to ${size}`
  return `form ${form}, ${count} ${size === 1 ? 'criterion' : 'criteria'}`
}

function oddities({ criteria }: Rubric): readonly string[] {
  const found: string[] = []
  if (criteria.every(({ weight }) => weight < 0))
    found.push('only faults: an answer that commits none earns all')
  const texts = new Set(criteria.map(({ text }) => text.trim()))
  if (texts.size < criteria.length) found.push('the same criterion twice: it counts twice')
  if (criteria.some(isDeniedFault))
    found.push(
      'a pitfall that says what the answer does not do has a negative weight: an answer that avoids it loses',
    )
  return found
}

/** A pitfall may be worded as a fault or as its absence; the sign of the weight must fit. */
const isDeniedFault = ({ category, text, weight }: Criterion): boolean =>
  category === 'Pitfall' && weight < 0 && /^[^:]{0,40}:\s{0,4}(?:does not|avoids|never)\b/i.test(text)
