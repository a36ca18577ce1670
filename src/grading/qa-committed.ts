import { type AnswerKind, finalAnswer } from './answer/final-answer.ts'
import { isOffer } from './answer/other-things.ts'
import { isWithdrawn } from './answer/withdrawal.ts'
import { isHedged } from './answer/wording.ts'
import { undecorated } from './characters.ts'

/** Where a longer text commits to a short answer: a mark, an announcement, bold, a first line, its last sentence. */

/** Where a sentence ends: not behind an initial or a title. */
const sentenceEnd =
  /(?<!(?<!\p{L})(?:\p{Lu}|Mr|Mrs|Ms|Dr|St|Jr|Sr|No|vs|ca|approx))[.!?](?=["'”’)*_]{0,3}(?:\s|$))|[。！？]|\n/u
const longest = 20_000

const firstSentence = (text: string): string => {
  const line = text.replace(/^[\s*_:]+/, (lead) => lead.replace(/[\n:]/g, ' '))
  const end = line.search(sentenceEnd)
  return end < 0 ? line : line.slice(0, end + (line[end] === '\n' ? 0 : 1))
}

const bare = (text: string): string => text.toLowerCase().replace(/^[\s*_"'`$]+|[\s*_"'`$.。!]+$/g, '')

/** The text that a place announces: the whole of a mark, the first sentence behind an announcement. */
const announced: AnswerKind<string> = {
  isVerbatim: true,
  read(whole, isClosed) {
    const text = (isClosed ? whole : firstSentence(whole)).trim()
    const rest = isClosed ? '' : `.${whole.slice(whole.indexOf(text) + text.length)}`
    return text === '' ? { reason: 'no_answer' } : { answer: text, rest }
  },
  same: (a, b) => bare(a) === bare(b),
  another: (text, answer) =>
    bare(text.slice(0, answer.length + 40)).startsWith(bare(answer)) ? 'same' : null,
}

const fenced = /^```[\w-]*\n([^`]{1,1000})\n```$/
const key = /^(?:final_?)?(?:answer|response|result)$/i

/** The answer that an object in JSON holds. */
function inObject(text: string): string | null {
  if (!text.startsWith('{') || text.length > longest) return null
  try {
    const held: unknown = JSON.parse(text)
    if (typeof held !== 'object' || held === null) return null
    const [one, other] = Object.entries(held).filter(([name]) => key.test(name))
    if (one === undefined || other !== undefined) return null
    const [, value] = one
    return Array.isArray(value) ? `[${value.map((item) => JSON.stringify(item)).join(', ')}]` : String(value)
  } catch {
    return null
  }
}

/** What a text says last, and what it says before. */
function lastSentence(text: string): { readonly before: string; readonly last: string } {
  let end = text.length
  while (end > 0 && /[\s*_]/.test(text.charAt(end - 1))) end--
  const body = text.slice(0, end)
  let start = 0
  for (let at = Math.max(0, body.length - 400); ; ) {
    const found = body.slice(at, -1).search(sentenceEnd)
    if (found < 0) break
    at += found + 1
    start = at
  }
  return { before: body.slice(0, start), last: body.slice(start).trim() }
}

const inBold = /\*\*([^*\n]{1,100})\*\*/g
/** A sentence, and no item of a list: it has a verb. */
const isSentence =
  /(?<!\p{L})(?:is|was|are|were|be|been|has|have|had|wrote|made|built|won|means|called|named|located|situated|took|takes|gave|gives|given|invented|went|came|became|becomes|got|led|held|stood|stands|lies|sits|runs|\p{L}{2,}ed|ist|sind|war|heißt|lautet|est|sont|était|es|son|era|fue|está|è|é|foi)(?!\p{L})|是|为|は|です|이다/iu
/** What leads to a conclusion from what was said before. */
const concluding = /^\W*(?:so|therefore|thus|hence|in\s+short|overall|finally|in\s+conclusion)\b/i

/** How a sentence begins, to tell two that state alternatives: "It is Paris. It is London." */
const opening = (sentence: string): string =>
  sentence
    .toLowerCase()
    .match(/\p{L}+/gu)
    ?.slice(0, 2)
    .join(' ') ?? ''

/**
 * The texts by which an answer may commit, the surest first. All but the first are what it would say if nothing announces
 * an answer. Empty: the text is no longer than one sentence, and commits as a whole or not at all. Linear.
 */
export function committedTexts(answer: string, question: string): readonly string[] {
  const plain = answer.trim()
  const block = fenced.exec(plain)?.[1]
  if (block !== undefined) return [inObject(block.trim()) ?? block]
  const held = inObject(plain)
  return held !== null ? [held] : [...withoutRemark(plain), ...stated(plain, question).flatMap(withoutRemark)]
}

/** A text, and the same without a remark in brackets behind it: `Poseidon (known as Neptune to the Romans)`. */
function withoutRemark(text: string): readonly string[] {
  const [, answer = '', remark = ''] = /^([^()]*[^()\s])\s?\(([^()\n]{4,200})\)[\s.!*_]*$/.exec(text) ?? []
  const isRemark =
    answer !== '' &&
    (converted.test(remark)
      ? /\d/.test(answer)
      : /(?<!\p{L})\p{Ll}{3,}\s/u.test(remark) && !offersAnother(remark.replace(distinct, '')))
  return isRemark ? [text, undecorated(answer)] : [text]
}

/** What others say, and what only looks like the thing. */
const saying =
  /(?<!\p{L})(?:says?|said|thinks?|believes?|claims?|argues?|insists?|swears?|tells?|told|according|others?|some|many|most|friends?|rivals?|opponents?|enem(?:y|ies)|former|fake|pseudo|impost[eo]rs?|so-called|alleged\w*|supposed\w*|would-be)(?!\p{L})/iu
/** The same in another unit: `(212 °F)`. */
const converted = /^(?:or\s|about\s|≈\s?)?[-−]?\d[\d.,]*\s?(?:°\s?[CF]|[a-zA-Z]{1,12}\d?)$/
const distinct = /^not\s+to\s+be\s+(?:confused|mixed\s+up)\s+with\b/i
const offersAnother = (remark: string): boolean => isOffer(remark) || saying.test(remark) || isHedged(remark)

function stated(plain: string, question: string): readonly string[] {
  const found = finalAnswer(plain, { ...announced, prompt: question }, ['boxed', 'hashes', 'tag', 'phrase'])
  if ('answer' in found)
    return found.kind === 'phrase' || isAlone(plain, plain.length - found.tail, found.answer)
      ? [found.answer]
      : []
  if (found.kind !== undefined || !/\s/.test(plain)) return []
  return unannounced(plain)
}

/** Whether a mark stands in its line with nothing but a label or a sentence: `Timbuktu \\boxed{Paris}` names two. */
function isAlone(plain: string, start: number, marked: string): boolean {
  const before = plain.slice(plain.lastIndexOf('\n', start - 1) + 1, start)
  const [after = ''] = plain.slice(plain.indexOf(marked, start) + marked.length).split('\n', 1)
  const isSaid = (text: string): boolean => !/\p{L}/u.test(text) || isSentence.test(text)
  return (isSaid(before) || /[:：]\W*$/.test(before)) && isSaid(after.replace(/<\/?\w+>|\\\w+/g, ''))
}

function unannounced(plain: string): readonly string[] {
  const { before, last } = lastSentence(plain)
  const bold = Array.from(plain.matchAll(inBold))
  const [only] = bold
  const texts: string[] = []
  const isConclusion = concluding.test(last)
  const stated = undecorated(last.replace(concluding, '').replace(/^[\s,:"'”’»)]+/, ''))
  if (before.trim() === '') texts.push(...(isConclusion ? [stated] : []))
  else if (isSentence.test(last) && !/[?？]/.test(last)) {
    const sentences = before.split(/(?<=[.!?。！？])\s+|\n/)
    if (isConclusion || !sentences.some((one) => opening(one) === opening(last))) texts.push(stated)
  }
  const rest = plain.slice((only?.index ?? 0) + (only?.[0].length ?? 0))
  const lead = only === undefined ? '' : last.slice(0, last.indexOf(only[0]))
  const isStated = isSentence.test(lead) && !isHedged(lead) && !offersAnother(firstSentence(rest))
  if (bold.length === 1 && isStated && !isWithdrawn(rest, () => null)) texts.push(only?.[1] ?? '')
  return [...texts, ...statedFirst(plain)]
}

/** What a text says first, in a line or a sentence of its own, if the rest is prose that tells more of it. */
function statedFirst(plain: string): readonly string[] {
  const first = firstSentence(plain)
  const rest = plain.slice(plain.indexOf(first.trim()) + first.trim().length).trim()
  const paragraphs = rest.split(/\n\s*\n/)
  const sentences = rest.split(/(?<=[.!?。！？])\s+|\n/)
  return first.length <= 100 &&
    rest !== '' &&
    !saying.test(first) &&
    paragraphs.every(isProse) &&
    !turning.test(rest) &&
    !sentences.some((one) => opening(one) === opening(first)) &&
    !isWithdrawn(`\n${rest}`, () => null)
    ? [undecorated(first.trim())]
    : []
}

/** What may put another answer beside the first one, or in its place. */
const turning =
  /(?<!\p{L})(?:actually|however|but|no|not|wait|corrections?|corrected|rather|instead|another|others?|although|though|alternativ\p{L}*|candidates?|possib\p{L}*|perhaps|maybe|might|unless|or|wrong|false|mistake\p{L}*|real|true|correct|better)(?!\p{L})|[?？]/iu

/** Whether a paragraph is prose, and no further answer. */
const isProse = (paragraph: string): boolean =>
  isSentence.test(paragraph) && /[.!)。！]["'”’)*_\s]*$/.test(paragraph) && paragraph.split(/\s+/).length > 3
