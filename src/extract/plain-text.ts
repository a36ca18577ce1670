import { compatible } from './compatible.ts'
import { trimSpace, whiteSpace } from './white-space.ts'

/** What a comparison of texts may ignore. `width`: full-width and other compatibility forms. */
export const ignorable = ['width', 'case', 'punctuation', 'articles', 'space'] as const
export type Ignorable = (typeof ignorable)[number]

const spaces = new RegExp(`[${whiteSpace}]+`, 'g')

const without: Readonly<Record<Ignorable, (text: string) => string>> = {
  width: compatible,
  case: (text) => text.toLowerCase(),
  punctuation: (text) => text.replace(/\p{P}/gu, ''),
  articles: (text) => text.replace(/\b(?:a|an|the)\b/gi, ' '),
  space: (text) => trimSpace(text.replace(spaces, ' ')),
}

/** A text without what is ignored, in the order of `ignorable`. */
export const plainText = (text: string, ignored: readonly Ignorable[]): string =>
  ignorable.filter((what) => ignored.includes(what)).reduce((plain, what) => without[what](plain), text)
