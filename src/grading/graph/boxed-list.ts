import { slicedBox, strictBoxContent } from '../latex/box.ts'
import { latexText } from '../latex/latex-text.ts'
import { afterThink } from '../think.ts'
import { trimSpace, whiteSpace } from '../white-space.ts'

/** Where an answer stands: in the last box, or after the last `###`. */
export type AnswerMark = 'box' | 'hashes'

const spoken = new RegExp(`the (?:final )?answer is[${whiteSpace}]*([^\\n]*)`, 'iu')

/** The list that a response gives as its answer, as G1 finds it; in brackets where the prompt has any. */
export function boxedListText(response: string, place: AnswerMark, asksForList: boolean): string {
  const found = place === 'box' ? slicedBox(response) : afterHashes(response)
  const text = found === null ? spokenAnswer(response) : trimSpace(found)
  return inBrackets(text.replaceAll('text', '').replace(/[\\{}]/g, ''), asksForList)
}

/** The list in the last box after the thinking, without LaTeX; '' where there is none. */
export function strictBoxedListText(response: string, place: AnswerMark, asksForList: boolean): string {
  const answer = afterThink(response) ?? ''
  const text = place === 'box' ? strictBoxContent(answer) : afterHashes(answer)
  return text === null ? '' : inBrackets(latexText(text), asksForList)
}

/** What follows the last `###`, or null. */
export function afterHashes(text: string): string | null {
  const at = text.lastIndexOf('###')
  return at === -1 ? null : text.slice(at + 3)
}

function spokenAnswer(response: string): string {
  const capture = trimSpace(spoken.exec(response)?.[1] ?? '')
  return capture.replaceAll(':', '').replaceAll('\\n', '').replaceAll('.', '')
}

function inBrackets(text: string, asksForList: boolean): string {
  return asksForList && !text.includes('[') ? `[${text}]` : text
}
