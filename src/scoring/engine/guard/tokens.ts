import { asciiTable } from './characters.ts'
import { bracketedNames, taggedNames } from './control-tokens.ts'

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
export function isAngledToken(text: string, at: number): boolean {
  const start = text.charCodeAt(at + 1) === slash ? at + 2 : at + 1
  const end = nameEnd(text, start)
  const after = text.charCodeAt(end)
  if (after === closingAngle) return isNamed(tagged, text, start, end)
  if (after === blank) return fitsAt(bounds, text, start)
  // The most common case: an element with attributes, or a comparison.
  if (end > start && after !== bar && after !== wideBar) return false
  return fitsAt(barredToken, text, at) || text.startsWith(userTag, at)
}

/** Whether a control token begins at a `[`. */
export function isBracketedToken(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1)
  if (next === bar) return fitsAt(barredBracket, text, at)
  const start = next === slash ? at + 2 : at + 1
  const end = nameEnd(text, start)
  const after = text.charCodeAt(end)
  return after === blank
    ? fitsAt(bounds, text, start)
    : after === closingSquare && isNamed(bracketed, text, start, end)
}

function fitsAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
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
export function isTildeToken(text: string, at: number): boolean {
  return tildeToken.test(text.slice(Math.max(0, at - 3), at + 4))
}

const tildeToken = /[[\]](?:!?[a-z]~[[\]]|~!?[a-z][[\]])/

/**
 * At a `/`, a thinking switch. Templates look for it anywhere in a user turn (Nemotron's `/think`, `/no_think`), and
 * models are trained to follow it there (Qwen 3, GLM's `/nothink`, Pangu's `/auto_think`).
 */
export const thinkingSwitch = /\/(?:no_?|auto_)?think/y

/** Matches one of our fence brackets before text that could be mistaken for a nonce. */
export const openFence = /⟦[0-9A-Fa-f]{8}/y
/** Text before a closing fence bracket that could be mistaken for a nonce. */
export const fenceTail = /[0-9A-Fa-f]{8}$/

const roles = 'human|user|assistant|system|developer|judge|grader|evaluator|evaluation'
/** Roles too short to tell from an ordinary heading unless a colon follows. */
const shortRoles = 'ai|bot|chatbot'
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

/** ASCII characters that `turn` can begin with. */
const asciiTurnStarts = asciiTable(/[ \t>#*_[(abcdeghjmsuknpt]/i)
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
  if (first < 128) return asciiTurnStarts[first] === 1
  return first === wideBlank || foreignTurnStarts.has(pairOf(first, text.charCodeAt(at + 1)))
}
