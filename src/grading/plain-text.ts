import { compatible, singleSpaced } from './characters.ts'

/** Aspects that a comparison of texts may ignore. `width`: full-width and other compatibility forms. */
export const ignorable = ['width', 'case', 'punctuation', 'articles', 'space'] as const
export type Ignorable = (typeof ignorable)[number]

const without: Readonly<Record<Ignorable, (text: string) => string>> = {
  width: compatible,
  case: (text) => text.toLowerCase(),
  punctuation: (text) => text.replace(/\p{P}/gu, ''),
  articles: (text) => text.replace(/\b(?:a|an|the)\b/gi, ' '),
  space: singleSpaced,
}

/**
 * Removes the ignored aspects, in the order of `ignorable`.
 *
 * @example
 * ```ts
 * import { plainText } from 'reward-gateway/grading'
 *
 * plainText('The Answer!', ['case', 'punctuation', 'articles', 'space']) // 'answer'
 * ```
 */
export const plainText = (text: string, ignored: readonly Ignorable[]): string =>
  ignorable.filter((what) => ignored.includes(what)).reduce((plain, what) => without[what](plain), text)

/**
 * Comparisons of texts. `eq`: equal. `ne`: not equal. `like`: the first contains the second. `ilike`: the
 * same, ignoring case.
 */
export const textOperations = ['eq', 'ne', 'like', 'ilike'] as const

/** Whether a comparison of two texts holds. */
export function textHolds(
  operation: (typeof textOperations)[number],
  given: string,
  wanted: string,
): boolean {
  if (operation === 'like') return given.includes(wanted)
  if (operation === 'ilike') return given.toLowerCase().includes(wanted.toLowerCase())
  return (given === wanted) === (operation === 'eq')
}
