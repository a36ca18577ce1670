/** What others call a criterion. Its text and its name are the row's words, which reach neither failures nor metrics. */

import { hash } from 'node:crypto'

interface Tagged {
  readonly tags?: readonly string[]
}

/** The first of the config's tags that a criterion has. */
const tagOf = ({ tags = [] }: Tagged, known: readonly string[]): string | undefined =>
  known.find((one) => tags.includes(one))

/** How a failure names a criterion: by its place from 1, and by its tag. */
export function criterionLabel(criterion: Tagged, at: number, known: readonly string[]): string {
  const tag = tagOf(criterion, known)
  return `criterion ${at + 1}${tag === undefined ? '' : ` (${tag})`}`
}

/** Some two of 10,000 texts share so many hexadecimal digits with a probability of 2e-7. */
const digits = 12

/** How metrics name a criterion, the same in all rows that have it: by its tag, else by the beginning of its text's SHA-256. */
export const criterionKey = (
  criterion: Tagged & { readonly text: string },
  known: readonly string[],
): string => tagOf(criterion, known) ?? `sha256:${hash('sha256', criterion.text).slice(0, digits)}`
