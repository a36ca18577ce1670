import { isOffer } from './wording.ts'

/** What stands beside the answer of a text without marks: blocks and lines that check it, notes, sentences in brackets. */

const heading = /^[ \t>]*(?:#{1,6}\s+[^\n]*|\*\*[^*\n]{1,80}\*\*[:：]?|__[^_\n]{1,80}__[:：]?)[ \t]*$/gm
const checking =
  /^[\s>#*_]*(?:(?:quick|sanity|final|double)[\s-]+)?(?:verification|verify(?:ing)?|check|checking|proof|sanity\s+check|double-check(?:ing)?|test|probe|comprobación|verificación|vérification|verifica|проверка|验证|检验|検算|검산)\b[^\p{L}\n]*$/iu

/** The names of remarks, as they begin a line: `Note:`, `P.S.`, `Common mistake:`. */
const noteName = String.raw`(?:(?:side|quick|important|additional|final)\s+)?(?:note|remark|hint|tip|reminder|caution|warning|caveat|fun\s+fact|(?:common|typical|frequent)\s+(?:mistake|error|pitfall|trap)s?|nota(?:\s+bene)?|anmerkung|hinweis|bemerkung|remarque|observaci[oó]n|osservazione|observação|примечание|замечание|备注|備考|注意|注|補足)`
const note = new RegExp(
  String.raw`^[^\p{L}\p{N}\n]{0,12}(?:${noteName}(?:\s[^\n:：.]{0,40})?[*_]{0,3}\s?[:：.—–]|(?:p\.\s?s|n\.\s?b)\.?[*_:]{0,4}\s)[^\n]*(?:\n[ \t]*>[^\n]*)*`,
  'gimu',
)
/** A sentence in brackets behind another one, if it does not conclude. */
const bracketed =
  /(?<=[.!?…。！？]["'”’*_$]{0,3}\s{1,4}|\n\s{0,8})[*_]{0,3}[([](?!\W*(?:so|thus|hence|therefore|total|in\s+total|altogether|i\.e)\b)(?=[^()[\]\n]*\p{L}{2}[^()[\]\n]*\s[^()[\]\n]*\p{L}{2})(?:[^()[\]\n]|\([^()[\]\n]{0,60}\)){12,400}[)\]](?!\()[.!]?[*_]{0,3}(?=\s|$)/gu

/** A sentence about what would come out in another case: `With compound interest it would be $187.`, `Had I added, ...`. */
const hypothetical =
  /(?<=[.!?…。！？]["'”’)*_$\]]{0,3}\s{1,4}|\n\s{0,8})(?:(?:With(?:out)?|If|Under|Using|In|On|For|By|But\s+for)\s[^.!?\n]{1,120}?\b(?:it|this|that|one|(?:the|our|my)\s+(?:answer|result|value|total|solution|sum))\s+would\s|(?:Had|Were)\s[^.!?\n]{1,120}?\bwould\s|[^.!?\n]{1,80}?\b(?:instead|otherwise),?\s+(?:(?:it|one|you|we|I|that|this)\s+)?would\s|[^.!?\n]{1,120}?\bwould\s+have\s+(?:been|given|found|got|gotten|yielded|come)\b)(?:[^.!?\n]|\.(?=\d)){1,200}(?:[.!]|$)/gmu

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')
const hasNumber = /\d/

/**
 * A text with blanks for what stands beside its answer, if a number stands before it. What is left has its place.
 * Linear.
 */
export function withoutAsides(text: string, question: string): string {
  const plain = text.includes('\n') ? unlessFirst(withoutChecks(text), note) : text
  return withoutHypotheses(withoutBrackets(plain), question)
}

/** A text with blanks for sentences in brackets behind an answer, unless they are formulas. Linear. */
export const withoutBrackets = (text: string): string =>
  /[([]/.test(text)
    ? unlessFirst(text, bracketed, (inner) => !/\\(?!text)/.test(inner.replace(/\$[^$]*\$/g, '')))
    : text

/** A text with blanks for sentences about what would be in another case, unless the question is about one. Linear. */
export const withoutHypotheses = (text: string, question: string): string =>
  text.includes('would') && !/\bwould\b/.test(question) ? unlessFirst(text, hypothetical) : text

function unlessFirst(text: string, aside: RegExp, isAside: (found: string) => boolean = () => true): string {
  const first = text.search(hasNumber)
  if (first < 0) return text
  return text.replace(aside, (all, ...found) => (offsetOf(found) > first && isAside(all) ? blank(all) : all))
}

const offsetOf = (found: readonly unknown[]): number => found.find((one) => typeof one === 'number') as number

/** Without the blocks under a heading that says that they check the answer before them. A block ends at the next heading. */
function withoutChecks(text: string): string {
  if (!/[#*_]/.test(text)) return text
  const headings = Array.from(text.matchAll(heading))
  let kept = text
  for (const [at, { index, 0: line }] of headings.entries()) {
    if (!checking.test(line) || !hasNumber.test(kept.slice(0, index))) continue
    const end = headings[at + 1]?.index ?? text.length
    kept = kept.slice(0, index) + blank(text.slice(index, end)) + kept.slice(end)
  }
  return kept
}

/** A sentence that checks an answer or offers more, and states none. */
export const isCheck = (sentence: string): boolean =>
  isOffer(sentence) ||
  /^[\s*_(>]*(?:(?:(?:quick|sanity|final|double|sum)[\s-]+)?(?:check|checking|verification|verify|proof)[*_]{0,3}\s*[:：]|to\s+(?:check|verify|double-check)\b|(?:we|you|I)\s+can\s+(?:also\s+)?(?:check|verify)\b|let(?:['’]s|\s+us|\s+me)\s+(?:check|verify|double-check)\b|note\s*[:：]|(?:(?:indeed|then|and),?\s+)?(?:both\s+sides|(?:the\s+)?(?:left|right)(?:-hand)?\s+side|[LR]HS)\b|(?:please\s+)?(?:do\s+not|don['’]t)\s+(?:forget|confuse|mix|mistake|overlook|add|include|count)\b|remember\s+(?:that|to)\b|\((?:forgetting|without|had|if|note|here|using|adding)\b)/i.test(
    sentence,
  )

/** A sentence of a text, and its line. */
export interface Sentence {
  readonly text: string
  readonly start: number
  readonly line: string
  readonly lineStart: number
}

/** The sentence around a place. */
export function sentenceAround(text: string, at: number): Sentence {
  const lineStart = text.lastIndexOf('\n', at) + 1
  const line = text.slice(lineStart).split('\n', 1)[0] ?? ''
  let start = 0
  let end = line.length
  for (const { index, 0: stop } of line.matchAll(
    /(?<!\b(?:i\.e|e\.g|vs|approx|resp))[.!?。！？](?:\s|$)/gi,
  )) {
    if (index + stop.length <= at - lineStart) start = index + stop.length
    else if (index >= at - lineStart) {
      end = index + stop.length
      break
    }
  }
  return { text: line.slice(start, Math.max(end, start)), start: lineStart + start, line, lineStart }
}
