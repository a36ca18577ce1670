import { asciiDigits, trimSpace, whiteSpace } from '../characters.ts'
import { bracedFractions, closingBrace, rightSide } from '../latex.ts'

const values: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ zero: 0, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8, nine: 9, ten: 10 },
    ...{ eleven: 11, twelve: 12, thirteen: 13, fourteen: 14, fifteen: 15, sixteen: 16, seventeen: 17 },
    ...{ eighteen: 18, nineteen: 19, twenty: 20, thirty: 30, forty: 40, fifty: 50, sixty: 60, seventy: 70 },
    ...{ eighty: 80, ninety: 90, hundred: 100, thousand: 1e3, million: 1e6, billion: 1e9, point: Number.NaN },
  }),
)

const space = new RegExp(`[${whiteSpace}]+`)
const scales = ['thousand', 'million', 'billion'] as const

/**
 * The value of the number words in a text under word2number 1.1, as Python prints it. null if word2number
 * rejects them.
 */
function wordNumber(text: string): string | null {
  const plain = text.replaceAll('-', ' ').toLowerCase()
  if (/^\p{Nd}+$/u.test(plain)) return asciiDigits(plain).replace(/^0+(?=\d)/, '')
  const words = plain.split(space).filter((word) => values.has(word))
  if (words.length === 0) return null
  if ([...scales, 'point'].some((word) => words.indexOf(word) !== words.lastIndexOf(word))) return null
  const point = words.indexOf('point')
  const whole = wholeNumber(point < 0 ? words : words.slice(0, point))
  if (whole === null) return null
  const decimals = point < 0 ? [] : words.slice(point + 1)
  if (decimals.length === 0) return `${whole}`
  const places = decimals.map((word) => values.get(word) ?? Number.NaN)
  if (!places.every((digit) => digit < 10)) return `${whole}`
  const value = whole + Number(`0.${places.join('')}`)
  return Number.isInteger(value) ? `${value}.0` : `${value}`
}

function wholeNumber(words: readonly string[]): number | null {
  const [thousand, million, billion] = scales.map((word) => words.indexOf(word)) as [number, number, number]
  if (thousand > -1 && (thousand < million || thousand < billion)) return null
  if (million > -1 && million < billion) return null
  if (words.length < 2) return values.get(words[0] ?? 'zero') ?? null
  let total = 0
  let start = 0
  for (const [at, scale] of [
    [billion, 1e9],
    [million, 1e6],
    [thousand, 1e3],
  ] as const) {
    if (at < 0) continue
    const part = group(words.slice(start, at))
    if (part === null) return null
    total += part * scale
    start = at + 1
  }
  if (start === words.length) return total
  const rest = group(words.slice(start))
  return rest === null ? null : total + rest
}

/** Adds up words below one thousand like word2number, which only looks at their count. */
function group(words: readonly string[]): number | null {
  const [a, b = 0, c = 0, d = 0] = words.map((word) => values.get(word) ?? 0)
  if (a === undefined) return null
  if (words.length === 4) return a * b + c + d
  if (words.length === 3) return a * b + c
  if (words.length === 2) return a === 100 || b === 100 ? a * b : a + b
  return a
}

/** Unit patterns of Qwen2.5-Math's grader (MIT licence), in its order. `.` matches any character. */
const names = (
  'east|degree|mph|kmph|ft|m sqaure| m east|sq m|deg|mile|q .|monkey|prime|ratio|profit of rs|rd|o|' +
  'gm|p . m|lb|tile|per|dm|lt|gain|ab|way|west|a .|b .|c .|d .|e .|f .|g .|h .|t|a|h|no change|men|' +
  'soldier|pie|bc|excess|st|inches|noon|percent|by|gal|kmh|c|acre|rise|a . m|th|π r 2|sq|mark|l|' +
  'toy|coin|sq . m|gallon|° f|profit|minw|yr|women|feet|am|pm|hr|cu cm|square|v â € ™|are|rupee|' +
  'rounds|cubic|cc|mtr|s|ohm|number|kmph|day|hour|minute|min|second|man|woman|sec|cube|mt|sq inch|' +
  'mp|∏ cm ³|hectare|more|sec|unit|cu . m|cm 2|rs .|rs|kg|g|month|km|m|cm|mm|apple|liter|loss|yard|' +
  'pure|year|increase|decrease|d|less|Surface|litre|pi sq m|s .|metre|meter|inch'
).split('|')

const border = '[^\\p{L}\\p{N}_]'
const units = [...names, ...names.map((name) => `${name}s`)]
const anyUnit = new RegExp(`(?:^|${border})(?:${units.join('|')})(?:$|${border})`, 'su')
const patterns = units.map((unit) => new RegExp(`(^|${border})${unit}($|${border})`, 'gsu'))

/** Removes each stand-alone unit, going twice over the list, unless nothing would be left. */
function withoutUnits(text: string): string {
  let left = text
  if (!anyUnit.test(left)) return left
  for (let turn = 0; turn < 2; turn++) {
    for (const pattern of patterns) left = left.replace(pattern, '$1$2') || left
  }
  return left
}

type Step = (text: string) => string

const without = (text: string, ...pieces: readonly string[]): string =>
  pieces.reduce((left, piece) => left.replaceAll(piece, ''), text)

/**
 * Qwen2.5-Math's `strip_string`: the normal form that its grader compares, faults included. See
 * docs/parity.md.
 */
export function stripAnswer(answer: string, keepUnits: boolean): string {
  const plain = withoutTextUnit(withPlainCommands(trimSpace(answer)))
  const bare = without(
    keepUnits ? plain : withoutUnits(plain),
    '^{\\circ}',
    '^\\circ',
    '\\$',
    '$',
    '\\(',
    '\\)',
  )
  const read = withPlainNumbers(withPlainSigns(wordNumber(bare) ?? bare))
  if (read === '') return ''
  const side = rightSide(read.startsWith('.') ? `0${read}` : read)
  const roots = side.replace(/\\sqrt([\p{L}\p{N}_]+)/gu, '\\sqrt{$1}').replaceAll(' ', '')
  return asFraction(bracedFractions(roots) ?? roots)
}

const withPlainCommands: Step = (text) =>
  without(
    without(text.replaceAll('\n', '').replace(/(?<!\.)\.+$/, ''), '\\!')
      .replace(/\\begin\{array\}\{.*?\}/gs, '\\begin{pmatrix}')
      .replaceAll('\\end{array}', '\\end{pmatrix}')
      .replaceAll('bmatrix', 'pmatrix')
      .replaceAll('tfrac', 'frac')
      .replaceAll('dfrac', 'frac')
      .replaceAll('\\neq', '\\ne')
      .replaceAll('\\leq', '\\le')
      .replaceAll('\\geq', '\\ge'),
    '\\left',
    '\\right',
  )
    .replaceAll('\\{', '{')
    .replaceAll('\\}', '}')

/** If the text ends with a brace, everything from the first `\text{` on counts as a unit. */
const withoutTextUnit: Step = (text) => {
  const unit = text.indexOf('\\text{')
  return (unit >= 0 && text.endsWith('}') && trimSpace(text.slice(0, unit))) || text
}

const assigned = ['x=', 'y=', 'z=', 'x\\in', 'y\\in', 'z\\in', 'x\\to', 'y\\to', 'z\\to']

const withPlainSigns: Step = (text) => {
  const infinite = without(
    without(text.replace(/\\text\{(.*?)\}/gs, '$1'), ...assigned)
      .replaceAll('\\emptyset', '{}')
      .replaceAll('(-\\infty,\\infty)', '\\mathbb{R}'),
    '\\%',
    '%',
  )
    .replaceAll(' .', ' 0.')
    .replaceAll('{.', '{0.')
    .replaceAll('infinity', '\\infty')
  const named = infinite.includes('\\infty') ? infinite : infinite.replaceAll('inf', '\\infty')
  const plain = without(named.replaceAll('+\\inity', '\\infty'), 'and', '\\mathbf').replace(
    /\\mbox\{.*?\}/gs,
    '',
  )
  return plain.includes('j') && !plain.includes('i') ? plain.replaceAll('j', 'i') : plain
}

/** Turns `5.00` into 5 and `5.0x` into 5x. Each run of digits is tried once. */
const withPlainNumbers: Step = (text) =>
  text.replace(/(?<!\p{Nd})(\p{Nd}+)\.0*(\P{Nd})/gu, '$1$2').replace(/(?<!\p{Nd})(\p{Nd}+)\.0*$/u, '$1')

const side = '(0|-?[1-9][0-9]*|[^/]*sqrt[^/]*)'
const slashed = new RegExp(`^${side}/${side}$`)

const asFraction: Step = (text) =>
  text.split('/', 3).length === 2 ? text.replace(slashed, '\\frac{$1}{$2}') : text

const word = /(?<![\p{L}\p{N}_])[A-E](?![\p{L}\p{N}_])/gu
const triggers = ['choice is', 'answer is']

/** The choice letter that Qwen2.5-Math reads from a response, or the text that it uses instead. */
export function readChoice(response: string): string {
  const text = strippedOf(response, '\n', '\n')
  const repeats = triggers.some((trigger) => text.split(trigger, 3).length > 2)
  const pieces = (repeats ? (text.split('\n\n', 1)[0] ?? '') : text).split(/choice is|answer is/)
  const piece = strippedOf(strippedOf(pieces.at(-1) ?? '', '\n', '\n'), '', '.')
  const bare = strippedOf(strippedOf(strippedOf(piece, '', '/'), ' ', ' '), ':', '')
  const letters = bare.toUpperCase().match(word)
  const chosen = letters ? (pieces.length > 1 ? letters[0] : letters.at(-1)) : withoutDots(trimSpace(bare))
  return strippedOf(strippedOf(chosen ?? '', '', '.'), '', '/')
}

/** The choice letter of an answer alone, as its comparison reads it: the last letter. */
export function gradedChoice(answer: string): string {
  const text = strippedOf(strippedOf(strippedOf(answer, '\n', '\n'), '', '.'), '', '/')
  const bare = strippedOf(strippedOf(text, ' ', ' '), ':', '')
  const chosen = bare.toUpperCase().match(word)?.at(-1) ?? withoutDots(trimSpace(bare))
  return strippedOf(strippedOf(chosen, '', '.'), '', '/')
}

const withoutDots = (text: string): string => strippedOf(text, '.', '.')

/** Removes every `left` from the start and every `right` from the end. '' leaves that end alone. */
function strippedOf(text: string, left: string, right: string): string {
  let start = 0
  let end = text.length
  while (left !== '' && start < end && text[start] === left) start++
  while (right !== '' && end > start && text[end - 1] === right) end--
  return text.slice(start, end)
}

const choices: ReadonlySet<string> = new Set(['mmlu_stem', 'sat_math', 'aqua', 'gaokao2023'])

const longest = 20_000
const hoped = 'final answer is $'
const hope = '$. I hope'
const lineBreak = new RegExp(`\\n[${whiteSpace}]*`, 'g')

/** Benchmarks whose answers keep their units. */
const keepsUnits = (benchmark: string): boolean => benchmark === 'minerva_math' || benchmark === 'carp_en'

/**
 * The answer that Qwen2.5-Math's harness reads from a response, including its thinking. null above 20,000
 * UTF-16 units.
 */
export function publishedAnswer(response: string, benchmark: string): string | null {
  const text = response.replaceAll('\u043a\u0438', '')
  if (choices.has(benchmark)) return readChoice(text)
  const found = marked(text) ?? lastNumber(text)
  if (found.length > longest) return null
  const answer = benchmark.includes('mmlu') ? lastLetter(found) : found
  const line = answer.replace(lineBreak, '')
  const bare = line.startsWith(':') ? line.slice(1) : line
  const ended = bare.endsWith('.') ? bare.slice(0, -1) : bare
  return stripAnswer(ended.endsWith('/') ? ended.slice(0, -1) : ended, keepsUnits(benchmark))
}

/** null if nothing is marked. */
function marked(text: string): string | null {
  const final = text.indexOf(hoped)
  if (final >= 0 && text.includes(hope))
    return trimSpace(text.slice(final + hoped.length).split(hope, 1)[0] ?? '')
  if (text.includes('boxed')) return boxed(text.slice(text.lastIndexOf('boxed') + 5))
  for (const phrase of ['he answer is', 'final answer is']) {
    const at = text.lastIndexOf(phrase)
    if (at >= 0) return trimSpace(text.slice(at + phrase.length))
  }
  const chinese = text.split('答案是', 2)[1]
  return chinese === undefined ? null : trimSpace(trimSpace(chinese).split('\n\n', 1)[0] ?? '')
}

function boxed(rest: string): string {
  if (!rest.startsWith('{')) return trimSpace(rest.split('$', 1)[0] ?? '')
  const end = closingBrace(rest, 1)
  return rest.slice(1, end < 0 ? rest.length : end)
}

function lastNumber(text: string): string {
  const numbers = text.replaceAll(',', '').match(/-?\p{Nd}*\.?\p{Nd}+/gu)
  return numbers?.at(-1) ?? ''
}

function lastLetter(text: string): string {
  const letters = text.toUpperCase().match(/(?<![\p{L}\p{N}_])[A-E](?![\p{L}\p{N}_])/gu)
  return letters?.at(-1) ?? strippedOf(trimSpace(text), '.', '.')
}
