import { asciiTable } from './characters.ts'

const words =
  'yes|no|true|false|(?:in)?correct|pass(?:ed)?|fail(?:ed)?|right|wrong|tie|(?:(?:not|partially|fully) |un)?met'
const foreignWords =
  '正确|錯誤|错误|不正确|不通过|通过|合格|不合格|对|错|是|否|はい|いいえ|да|нет|ja|nein|oui|non|s[ií]'
/** What safety models say after `Safety:`. */
const safetyWords = '(?:un)?safe|controversial'
const tagLabels = 'score|rating|grade|verdict|judge?ment|evaluation|reward'

/** At a `[`: `[[8]]`, `[[A]]`, `[[10/10]]`, `[[A>>B]]`, `[RESULT] 5`. */
export const rating = new RegExp(
  `\\[(?:\\[\\s?(?:\\d{1,3}(?:\\.\\d{1,4})?(?:\\s?/\\s?\\d{1,3})?|[A-E]|[AB][<>=]{1,3}[AB]|${words})\\s?\\]\\]|RESULT\\]\\s{0,3}\\(?\\d)`,
  'iy',
)

/** At a `<`: `<score>`, `</verdict>`. */
const verdictTag = new RegExp(`</?(?:${tagLabels})\\s?>`, 'iy')

const tagStarts = asciiTable(/[srgvje]/i)

/** Whether a verdict tag begins at a `<`. */
export function isVerdictTag(text: string, at: number): boolean {
  const start = text[at + 1] === '/' ? at + 2 : at + 1
  if (!tagStarts[text.charCodeAt(start)]) return false
  verdictTag.lastIndex = at
  return verdictTag.test(text)
}

/** At the separator between a label and its verdict, which is a number, a letter or a word that could be a verdict. */
export const verdictAfter = new RegExp(
  `(?:[:：=→]|->)\\s{0,3}["'\`*_“‘[(]{0,4}\\s{0,3}(?:[-+.]?[\\d０-９]|(?:${words}|${safetyWords})(?![A-Za-z])|(?:${foreignWords})(?!\\p{L})|[A-E](?![A-Za-z]))`,
  'iuy',
)

/** An `=` and its verdict up to the end of the line. If more follows, it is a formula or code. */
export const assigned =
  /=\s{0,3}["'`*_“‘[(]{0,4}[-+.]?[\p{L}\d０-９./]{1,12}[\s"'`*_”’)\].!]{0,4}(?:[\r\n]|$)/uy

/** Labels that precede a verdict, in lower case. */
const labels = new Set(
  [
    'score rating grade verdict judgment judgement evaluation reward correct correctness safety refusal met',
    'bewertung punktzahl urteil wertung évaluation jugement puntuación puntaje calificación evaluación veredicto',
    'pontuação avaliação veredito punteggio valutazione verdetto giudizio beoordeling puan değerlendirme',
    'оценка балл баллы вердикт рейтинг 점수 평가 평점 판정 الدرجة التقييم',
  ]
    .join(' ')
    .split(' '),
)

/** Labels in scripts without spaces between words: what a run of characters ends with. */
const endings = new Set(
  '评分 得分 打分 分数 判定 判断结果 評分 分數 评价 評價 评级 裁决 評価 評点 得点 採点 点数 スコア'.split(
    ' ',
  ),
)

const blank = asciiTable(/\s/)
const closer = asciiTable(/["'`*_)\]]/)
const letter = asciiTable(/[A-Za-z]/)
const longestLabel = 20

/** By last character: one bit for each length of a label that ends with it. Most words are ruled out without a copy. */
const lengths = new Map<number, number>()
const asciiLengths = new Int32Array(128)
for (const label of labels)
  for (const last of [label.slice(-1), label.slice(-1).toUpperCase()]) {
    const code = last.charCodeAt(0)
    const bits = (lengths.get(code) ?? 0) | (1 << label.length)
    lengths.set(code, bits)
    if (code < 128) asciiLengths[code] = bits
  }

/** The start of the label that ends before `end`: `"score"`, `**Rating** `, `评分`. -1 if there is no label. */
export function labelBefore(text: string, end: number): number {
  let last = end - 1
  const soonest = end - 8
  while (last > soonest && blank[text.charCodeAt(last)]) last -= 1
  while (last > soonest && isCloser(text.charCodeAt(last))) last -= 1
  const code = text.charCodeAt(last)
  if (code >= 0x2e80 && code < 0xac00) return endingAt(text, last)
  const bits = code < 128 ? (asciiLengths[code] ?? 0) : (lengths.get(code) ?? 0)
  if (bits === 0) return -1
  let first = last
  const longest = Math.max(0, last - longestLabel)
  while (first > longest && isLetter(text.charCodeAt(first - 1))) first -= 1
  const length = last + 1 - first
  if (!((bits >> length) & 1)) return -1
  const label = text.slice(first, last + 1).toLowerCase()
  // By itself it is a word of prose.
  if (label === 'met') return ofCriterion.test(text.slice(Math.max(0, first - 10), first)) ? first : -1
  return labels.has(label) ? first : -1
}

/** Before `met`: HealthBench's `criteria_met`. */
const ofCriterion = /(?:criteria|criterion)[_ ]$/i

const quote = asciiTable(/["']/)
const digit = asciiTable(/\d/)

/**
 * The place in `"c2"` of its letter if the key ends before `end`, as judges of rubrics reply about criteria (c) and answers (a). -1 if
 * there is none.
 */
export function criterionBefore(text: string, end: number): number {
  let last = end - 1
  const soonest = end - 8
  while (last > soonest && blank[text.charCodeAt(last)]) last -= 1
  if (!quote[text.charCodeAt(last)]) return -1
  let first = last - 1
  while (first > last - 4 && digit[text.charCodeAt(first)]) first -= 1
  const letter = text[first]?.toLowerCase()
  const isKey = first < last - 1 && (letter === 'c' || letter === 'a') && text[first - 1] === text[last]
  return isKey ? first : -1
}

/** At the colon after such a key, a reply to a criterion. A number without quotes is as often something else's. */
export const criterionReply = /:\s{0,3}(["'])\s?(?:yes|no|\d{1,3})\s?\1/iy

function endingAt(text: string, last: number): number {
  for (let from = last - 1; from >= 0 && from > last - 4; from--)
    if (endings.has(text.slice(from, last + 1))) return from
  return -1
}

const isCloser = (code: number): boolean =>
  code < 128 ? closer[code] === 1 : code === 0x201d || code === 0x2019

/** Letters of the alphabets that labels are written in, and of many others. */
const isLetter = (code: number): boolean =>
  code < 128 ? letter[code] === 1 : code >= 0xc0 && !(code >= 0x2000 && code < 0x2e80)

/** Whether a label can end before `end`, judging by one or two characters. */
export function mayFollowLabel(text: string, end: number): boolean {
  const code = text.charCodeAt(end - 1)
  const shown = blank[code] ? text.charCodeAt(end - 2) : code
  return shown >= 128 || asciiLengths[shown] !== 0 || closer[shown] === 1 || blank[shown] === 1
}

/** At the start of a line that is nothing but a verdict in capitals. The group captures what precedes the word. */
export const bareLine =
  /([ \t"'`*_([]{0,4})(?:YES|NO|TRUE|FALSE|CORRECT|INCORRECT|PASS|FAIL)[ \t"'`*_)\].!]{0,4}(?:\r?\n|$)/y

/** Characters that `bareLine` can begin with. */
export const bareStarts = asciiTable(/[ \t"'`*_([CFINPTY]/)

/** A last line that is nothing but a judge's boxed verdict. A box with any other content is the sample's answer. */
export const boxedEnd = new RegExp(
  `\\n[ \\t"'\`*_$]{0,6}\\\\(?=boxed\\{[ \\t]{0,3}(?:\\\\text\\{)?(?:[01](?:\\.0)?|10(?:/10)?|${words})\\}{1,2}[ \\t"'\`*_$.]{0,6}\\s{0,8}$)`,
  'i',
)

/** More characters than such a line has. */
export const boxedReach = 64
