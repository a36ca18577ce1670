import { repaired } from './repair.ts'

const style =
  /\\(?:text|mathrm|mbox|textbf|textnormal|textit|mathbf|operatorname|left|right|displaystyle|boxed|quad|qquad)(?![A-Za-z])\*?|\\[,;:! ]|[$\s~]/g
const sameInAnyCase = /^(?:\p{Lu}?\p{Ll}{2,}|\p{Lu}{4,}|[Yy][Ee][Ss]|[Nn][Oo])$/u

/** An answer's letters and signs without style, spaces and closing dots: equal answers in words have equal wordings. */
export function wording(answer: string): string {
  const styled = repaired(answer.slice(0, 20_000))
    .replace(/^[\s*]+|[\s*]+$/g, '')
    .replace(style, (piece, at: number, all: string) =>
      isDigit(all[at - 1]) && isDigit(all[at + piece.length]) ? ' ' : '',
    )
  // Braces carry meaning after a command, a power or a subscript.
  const plain = (/[\\^_]/.test(styled) ? styled : styled.replace(/[{}]/g, '')).replace(/[.,;。]+$/, '')
  return sameInAnyCase.test(plain) ? plain.toLowerCase() : plain
}

const isDigit = (character: string | undefined): boolean => character !== undefined && /\d/.test(character)

const letter = /^(?:\(?([A-J])\)?|\(([a-j])\)|(?:option|choice)\(?([A-Ja-j])\)?)$/

/** The letter of a multiple choice that a truth consists of; null: it is something else. */
export function choiceLetter(truth: string): string | null {
  const plain = wording(truth)
  return /^\(?[A-J]\)?$/.test(plain) ? plain.replace(/[()]/g, '') : null
}

/** The one letter that an answer chooses: `B`, `(B)`, `B. 42`, `\textbf{(B)}\ 42`; null: none, or several. */
export function chosenLetter(answer: string): string | null {
  const plain = answer
    .slice(0, 2000)
    .replace(/[{}]/g, '')
    .replace(style, ' ')
    .trim()
    .replace(/[.,;]+$/, '')
  const alone = letter.exec(
    plain.replace(/\s/g, '').replace(/^(?:option|choice)/i, (word) => word.toLowerCase()),
  )
  if (alone) return (alone[1] ?? alone[2] ?? alone[3] ?? '').toUpperCase()
  const [, chosen, rest = ''] = /^(?:option |choice )?\(?([A-J])(?:\)|[.:]\s)(.*)$/i.exec(plain) ?? []
  return chosen && !/\b(?:or|and)\b|\(?\b[A-J]\b\)?/.test(rest) ? chosen.toUpperCase() : null
}
