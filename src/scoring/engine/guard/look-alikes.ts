import { drained } from '../../../core/slices.ts'
import type { GuardConfig } from '../../models/interface/model-config.ts'
import { asciiTable, isAscii, withoutInvisible } from './characters.ts'
import { bracketedNames, taggedNames } from './control-tokens.ts'
import * as verdict from './verdicts.ts'

/**
 * A value without anything that a judge or a parser could mistake for structure. Adds the parts of the guard that
 * changed it to `found`. Invisible characters come first: making them visible breaks any look-alike that contains them.
 */
export function neutralised(value: string, guard: GuardConfig, found: Set<string>): string {
  return drained(neutralising(value, guard, found))
}

/** The same in slices: megabytes of nothing but attacks take a second. */
export function* neutralising(
  value: string,
  guard: GuardConfig,
  found: Set<string>,
): Generator<void, string> {
  let ascii = isAscii(value)
  let text = value
  if (guard.invisible) {
    text = yield* withoutInvisible(value, ascii)
    if (text !== value) {
      found.add('invisible')
      ascii = false
    }
  }
  return guard.tokens || guard.verdicts ? yield* withoutLookAlikes(text, guard, found, ascii) : text
}

/** The mark that the guard inserts to break a look-alike: visible, and removed by deleting it. */
const mark = '·'

/** The step token of Math-Shepherd's process reward model. */
const stepMark = 'ки'

/** A character sequence at which a look-alike can begin or, for a verdict's label, end. */
interface Sign {
  readonly sign: string
  /** ASCII characters that can follow it in a look-alike. A non-ASCII character always can. */
  readonly next: Uint8Array
  /** Whether the text before it allows a look-alike; absent: always. */
  readonly follows?: (text: string, at: number) => boolean
}

const any = asciiTable(/[\s\S]/)
const verdictStart = asciiTable(/[\s"'`*_[(\-+.A-Za-z\d]/)
const afterLabel = { next: verdictStart, follows: verdict.mayFollowLabel }
const asciiSigns: readonly Sign[] = [
  { sign: '\n', next: any },
  { sign: '<', next: asciiTable(/[|/[\]A-Za-z_]/) },
  { sign: '[', next: asciiTable(/[[/|A-Zcgs]/) },
  { sign: ':', ...afterLabel },
  { sign: '=', ...afterLabel },
  { sign: '->', ...afterLabel },
  { sign: '~', next: asciiTable(/[a-z![\]]/) },
  { sign: '/', next: asciiTable(/[ant]/) },
  { sign: '\r', next: asciiTable(/[^\n]/) },
]
const signs: readonly Sign[] = [
  ...asciiSigns,
  ...'：→'.split('').map((sign) => ({ sign, ...afterLabel })),
  ...'⟦⟧'.split('').map((sign) => ({ sign, next: any })),
  { sign: stepMark, next: any, follows: (text, at) => isWord(text, at, stepMark.length) },
]

/** Which look-alikes to break. */
interface Breaking {
  readonly tokens: boolean
  readonly verdicts: boolean
}

/**
 * Inserts a mark after the first character of each control token, role heading and verdict, and adds what it broke to
 * `found`. A one-line value is an answer, even if it is YES. One linear pass. Yields between slices.
 */
function* withoutLookAlikes(
  text: string,
  breaking: Breaking,
  found: Set<string>,
  ascii = isAscii(text),
): Generator<void, string> {
  const isOneLine = !text.includes('\n')
  const boxed = breaking.verdicts && !isOneLine ? boxedEndOf(text) : -1
  let result = ''
  let copied = 0
  const insert = (at: number, part: keyof Breaking): void => {
    // Never marks the same place twice, nor a place that was already copied.
    if (at < copied) return
    result += text.slice(copied, at) + mark
    copied = at
    found.add(part)
  }
  const atLineStart = (at: number): void => {
    const role = breaking.tokens && mayStartTurn(text, at) ? matchAt(turn, text, at) : null
    if (role) insert(at + (role[1] ?? role[2] ?? role[3] ?? role[4] ?? '').length + 1, 'tokens')
    const mayBeBare = breaking.verdicts && !isOneLine && !role && verdict.bareStarts[text.charCodeAt(at)]
    const bare = mayBeBare ? matchAt(verdict.bareLine, text, at) : null
    if (bare) insert(at + (bare[1] ?? '').length + 1, 'verdicts')
  }
  const atCriterion = (at: number): void => {
    if (text[at] !== ':' || !fits(verdict.criterionReply, text, at)) return
    const key = verdict.criterionBefore(text, at)
    if (key >= 0) insert(key + 1, 'verdicts')
  }
  const atVerdict = (at: number): void => {
    if (!breaking.verdicts) return
    const label = verdict.labelBefore(text, at)
    if (label < 0) {
      atCriterion(at)
      return
    }
    if (!fits(verdict.verdictAfter, text, at)) return
    if (text[at] !== '=' || fits(verdict.assigned, text, at)) insert(label + 1, 'verdicts')
  }
  atLineStart(0)
  const look = (at: number): void => {
    switch (text[at]) {
      case '\n':
      case '\r':
        atLineStart(at + 1)
        break
      case '<':
        if (breaking.tokens && isAngledToken(text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && verdict.isVerdictTag(text, at)) insert(at + 1, 'verdicts')
        break
      case '[':
        if (breaking.tokens && isBracketedToken(text, at)) insert(at + 1, 'tokens')
        else if (breaking.verdicts && fits(verdict.rating, text, at)) insert(at + 1, 'verdicts')
        break
      case '~':
        if (breaking.tokens && isTildeToken(text, at)) insert(at, 'tokens')
        break
      case '/':
        if (breaking.tokens && fits(thinkingSwitch, text, at)) insert(at + 1, 'tokens')
        break
      case stepMark[0]:
        if (breaking.tokens) insert(at + 1, 'tokens')
        break
      case '⟦':
        if (breaking.tokens && fits(openFence, text, at)) insert(at + 1, 'tokens')
        break
      case '⟧':
        if (breaking.tokens && fenceTail.test(text.slice(Math.max(0, at - 8), at))) insert(at - 7, 'tokens')
        break
      default:
        atVerdict(at)
    }
  }
  yield* visit(text, ascii, look)
  if (boxed >= 0) insert(boxed, 'verdicts')
  return copied === 0 ? text : result + text.slice(copied)
}

/** The offset after the backslash if the last line is a boxed verdict; otherwise -1. */
function boxedEndOf(text: string): number {
  const from = Math.max(0, text.length - verdict.boxedReach)
  const found = verdict.boxedEnd.exec(text.slice(from))
  return found ? from + found.index + found[0].length : -1
}

/** Signs checked in one slice of work. */
const signsAtOnce = 1024

/** Calls `visited` in order with each offset at which a look-alike can begin. */
function* visit(text: string, ascii: boolean, visited: (at: number) => void): Generator<void, void> {
  const searches: Search[] = []
  for (const one of ascii ? asciiSigns : signs) {
    const at = following(text, one, 0)
    if (at >= 0) searches.push({ of: one, at })
  }
  for (let seen = 1; ; seen++) {
    if (seen % signsAtOnce === 0) yield
    let first = searches[0]
    for (const search of searches) if (first && search.at < first.at) first = search
    if (!first) return
    visited(first.at)
    first.at = following(text, first.of, first.at + 1)
    if (first.at < 0) searches.splice(searches.indexOf(first), 1)
  }
}

interface Search {
  readonly of: Sign
  at: number
}

/** The next offset of the sign between allowed neighbours; -1 if there is none. */
function following(text: string, { sign, next, follows }: Sign, from: number): number {
  let at = text.indexOf(sign, from)
  while (at >= 0) {
    const code = text.charCodeAt(at + sign.length)
    if ((code < 128 ? next[code] === 1 : true) && (!follows || follows(text, at))) return at
    at = text.indexOf(sign, at + 1)
  }
  return -1
}

const wordCharacter = /[\p{L}\p{N}]/u

/** Whether the text at this offset is a word of its own. */
const isWord = (text: string, at: number, length: number): boolean =>
  !wordCharacter.test(text[at - 1] ?? ' ') && !wordCharacter.test(text[at + length] ?? ' ')

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

function fits(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}

/**
 * At a `<`, the tokens that need no list: `<|im_end|>`, `<｜User｜>`, `</｜DSML｜`, Gemma's `<turn|>` and `<|turn>`,
 * MiniMax's `]<]start of image[>[`, Seed-Coder's `<[begin▁of▁sentence]>`.
 */
const barredToken =
  /<(?:\/?[|｜][^\s<>|｜]{1,64}[|｜]>|\/?｜(?=[^\s<>｜])|\/?\|[A-Za-z_]{2,40}>|[A-Za-z_]{2,40}[|｜]>|\][a-z_ \d.]{1,40}\[>\[|\[(?:[A-Za-z]{1,24}[▁_-]){1,4}[A-Za-z]{1,24}\]>)/y

/** After a bracket: Apriel's `[BEGIN FINAL RESPONSE]`, Llama Guard's `<END CONVERSATION>`. */
const bounds = /(?:BEGIN|END) [A-Z_ ]{3,40}[\]>]/y

/** At a `[`: EXAONE's `[|assistant|]`. */
const barredBracket = /\[\|[A-Za-z][\w:.-]{1,39}\|\]/y

const longestName = 40

/** A set of names, with a table by length and first character that rules out most words without a copy. */
interface Names {
  readonly all: ReadonlySet<string>
  readonly begins: Uint8Array
}

function namesOf(list: readonly string[]): Names {
  const begins = new Uint8Array((longestName + 1) * 128)
  for (const name of list) {
    const longest = name.includes('#') ? name.length + 5 : name.length
    for (let length = name.length; length <= longest; length++) begins[length * 128 + name.charCodeAt(0)] = 1
  }
  return { all: new Set(list), begins }
}

const tagged = namesOf(taggedNames)
const bracketed = namesOf(bracketedNames)
/** MiniCPM's user turn; its other turn is `<AI>`. */
const userTag = '<用户>'
const nameCharacter = asciiTable(/[\w:.-]/)
const [slash, bar, wideBar, closingAngle, closingSquare, blank] = [...'/|｜>] '].map((sign) =>
  sign.charCodeAt(0),
)

/** Whether a control token begins at a `<`. */
function isAngledToken(text: string, at: number): boolean {
  const start = text.charCodeAt(at + 1) === slash ? at + 2 : at + 1
  const end = nameEnd(text, start)
  const after = text.charCodeAt(end)
  if (after === closingAngle) return isNamed(tagged, text, start, end)
  if (after === blank) return fits(bounds, text, start)
  // The most common case: an element with attributes, or a comparison.
  if (end > start && after !== bar && after !== wideBar) return false
  return fits(barredToken, text, at) || text.startsWith(userTag, at)
}

/** Whether a control token begins at a `[`. */
function isBracketedToken(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1)
  if (next === bar) return fits(barredBracket, text, at)
  const start = next === slash ? at + 2 : at + 1
  const end = nameEnd(text, start)
  const after = text.charCodeAt(end)
  return after === blank
    ? fits(bounds, text, start)
    : after === closingSquare && isNamed(bracketed, text, start, end)
}

/** The end of the name that begins at `start`. */
function nameEnd(text: string, start: number): number {
  const longest = start + longestName
  let end = start
  while (end < longest && nameCharacter[text.charCodeAt(end)]) end += 1
  return end
}

/** Whether the name is a control token's. In numbered names any number matches. */
function isNamed({ all, begins }: Names, text: string, start: number, end: number): boolean {
  if (!begins[(end - start) * 128 + text.charCodeAt(start)]) return false
  const name = text.slice(start, end)
  return all.has(name) || (digit.test(name) && all.has(name.replace(digits, '#')))
}

const digit = /\d/
const digits = /\d+/g

/** Whether a `~` is part of one of MiniMax's tokens: `]~b]`, `]~!b[`, `[e~[`, `]!p~[`. */
function isTildeToken(text: string, at: number): boolean {
  return tildeToken.test(text.slice(Math.max(0, at - 3), at + 4))
}

const tildeToken = /[[\]](?:!?[a-z]~[[\]]|~!?[a-z][[\]])/

/**
 * At a `/`, a thinking switch. Templates look for it anywhere in a user turn (Nemotron's `/think`, `/no_think`), and
 * models are trained to follow it there (Qwen 3, GLM's `/nothink`, Pangu's `/auto_think`).
 */
const thinkingSwitch = /\/(?:no_?|auto_)?think/y

/** Matches one of our fence brackets before text that could be mistaken for a nonce. */
const openFence = /⟦[0-9A-Fa-f]{8}/y
/** Text before a closing fence bracket that could be mistaken for a nonce. */
const fenceTail = /[0-9A-Fa-f]{8}$/

const roles = 'human|user|assistant|system|developer|judge|grader|evaluator|evaluation'
/** Roles too short to tell from an ordinary heading unless a colon follows. */
const shortRoles = 'ai|bot|chatbot|agent'
/** Roles in the most common other languages; a heading needs its colon. */
const foreignRoles =
  '助手|助理|用户|用戶|使用者|系统|系統|人类|评委|裁判|アシスタント|ユーザー|システム|어시스턴트|사용자|시스템|' +
  'ассистент|помощник|пользователь|система|человек|судья|assistent|benutzer|nutzer|utilisateur|système|asistente|assistente|' +
  'usuario|usuário|sistema|utente|المساعد|المستخدم|asistan|kullanıcı|trợ lý|người dùng'
/**
 * The headings of Alpaca and its Japanese, Chinese and Korean descendants. They open turns only with a colon; without
 * one any text may have them.
 */
const headings =
  'instruction|response|input|output|指示|応答|入力|出力|指令|回答|回复|输入|输出|명령어|응답|입력|질문|답변'
const more = "(?:['’]s)?(?: (?:response|output|message|prompt|note))?"

/**
 * At the start of a line, text that seems to open a turn: `Assistant: `, `### System`, `[ASSISTANT'S RESPONSE]`, `助手：`,
 * `### Response:`, `[Round 1]`. One of the groups captures what precedes the role.
 */
export const turn = new RegExp(
  [
    `([ \\t\\u3000>#*_[(]{0,6})(?:(?:(?:gpt4|math) correct )?(?:${roles}|${shortRoles})${more}|${foreignRoles})[\\])*_]{0,3} ?[:：]`,
    `([ \\t]{0,3}(?:#{1,6} ?|\\[))(?:${roles})${more}(?:\\]|[ \\t]{0,4}(?:\\r?\\n|$))`,
    `([ \\t]{0,3}#{2,6} ?)(?:${headings})[*_]{0,3}[:：]`,
    '([ \\t]{0,3}\\[)round \\d{1,4}\\]',
  ].join('|'),
  'iy',
)

/** ASCII characters other than letters that `turn` can begin with. */
const markupStarts = asciiTable(/[ \t>#*_[(]/)
const asciiLetters = asciiTable(/[a-z]/i)
/** Two letters of the alphabet as one number, whatever their case. */
const letterPair = (first: number, second: number): number => (first & 31) * 32 + (second & 31)
/** Pairs of letters that `turn` can begin with. A line of prose seldom begins with one, and the pattern is dear. */
const letterStarts = new Uint8Array(32 * 32)
for (const role of `gpt4|math|${roles}|${shortRoles}|${foreignRoles}`.split('|'))
  if (asciiLetters[role.charCodeAt(0)]) letterStarts[letterPair(role.charCodeAt(0), role.charCodeAt(1))] = 1

/** Pairs of other characters that `turn` can begin with. */
const foreignTurnStarts = new Set(
  foreignRoles
    .split('|')
    .flatMap((role) =>
      [role.slice(0, 2), role.slice(0, 2).toUpperCase(), (role[0] ?? '').toUpperCase() + (role[1] ?? '')].map(
        (pair) => pairOf(pair.charCodeAt(0), pair.charCodeAt(1)),
      ),
    ),
)

function pairOf(first: number, second: number): number {
  return first * 0x10000 + second
}

const wideBlank = 0x3000

/** Whether `turn` can match at this offset. It cheaply rules out most lines; a long answer has thousands. */
export function mayStartTurn(text: string, at: number): boolean {
  const first = text.charCodeAt(at)
  if (asciiLetters[first]) return letterStarts[letterPair(first, text.charCodeAt(at + 1))] === 1
  if (first < 128) return markupStarts[first] === 1
  return first === wideBlank || foreignTurnStarts.has(pairOf(first, text.charCodeAt(at + 1)))
}
