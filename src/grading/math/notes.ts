import { isWithdrawn } from '../answer/withdrawal.ts'
import { marked } from './around.ts'
import { withoutRemarks } from './remarks.ts'

/** Lines that are all items of one list as one line, and without bold around formulas. */
export function asList(text: string): string {
  const items = text.split('\n').map((line) => /^\s*[-*•]\s+(\S.*)$/.exec(line)?.[1] ?? '')
  const line = items.length > 1 && !items.includes('') ? items.join(', ') : text
  return line.replace(/\*\*([^*\n]{1,200})\*\*/g, '$1')
}

const note =
  /(?:\n|(?<=[.!?]\s{1,3})(?=[*_]{0,3}(?:Note|Remark|Nota|Anmerkung|Remarque)\b))[ \t>*_#-]{0,8}(?:(?:Check(?:ing)?|Verif(?:y|ication|ying)|Sanity\s+check|Double[- ]check|Note|Remark|P\.?\s?S\.?|N\.?B\.?|Probe|Anmerkung|Vérification|Remarque|Comprobación|Verificación|Nota|Verifica|Проверка|Примечание|验证|检验|验算|備考|注|検算|검산)[*_]{0,2}\s?[:：.—–-]|(\[\^?\d\]:?|[¹²³⁴†‡]|(?<=\n)\*(?=[^\s*]))\s?\S)/giu

/** A text, and its checks, remarks and footnotes behind it: what they name is not what the text commits to. */
export function withoutNotes(text: string): { readonly body: string; readonly notes: string } {
  for (const { index, 1: mark } of text.matchAll(note)) {
    const body = text.slice(0, index).trimEnd()
    const isReferred = mark === undefined || body.slice(-400).includes(mark.replace(':', ''))
    if (!isReferred || !/[\d$\\]|[√π∞∅]/.test(body)) continue
    const notes = text.slice(index)
    if (mark === undefined && /\b(?:so|therefore|thus|hence|conclude|result)\b/i.test(notes)) continue
    const at = mark === undefined ? -1 : body.lastIndexOf(mark.replace(':', ''))
    return {
      body: at < 0 ? body : body.slice(0, at) + body.slice(at + (mark ?? '').replace(':', '').length),
      notes,
    }
  }
  return { body: text, notes: '' }
}

/** Whether notes take the answer back that stands before them. */
export function isTakenBackIn(notes: string, answer: string): boolean {
  const { text, another } = marked(answer, notes, false)
  return isWithdrawn(text, another)
}

/** A text without the remarks in its last line. */
export function withoutRemarksAtEnd(text: string): string {
  const start = text.lastIndexOf('\n') + 1
  return text.slice(0, start) + withoutRemarks(text.slice(start))
}
