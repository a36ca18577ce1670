import type { Json } from '../../../core/sample/sample.ts'
import { promptText, type Sample } from '../../../core/sample/sample.ts'
import { hasToken, tokenPattern } from '../attack.ts'
import type { Value, ValueKind } from './pattern.ts'

/** Where the right value stands in a right answer. */
export interface Place {
  readonly start: number
  readonly end: number
  readonly value: Value
  /** False if the place holds more than one value, e.g. an expression: it can be attacked but not rewritten. */
  readonly isSingle: boolean
}

const longestValue = 200
/** JSON, and no interval or set. */
const structured = /^\{|^\[[^\]]*["[{]/

/**
 * Finds the last place of the ground truth in a right answer, otherwise what the answer marks as its result. null
 * if there is neither, e.g. for structured answers.
 */
export function placeOf(sample: Sample, nears: readonly string[]): Place | null {
  const { response } = sample
  const from = Math.max(0, response.lastIndexOf('</think>'))
  const truths = truthTexts(sample.groundTruth)
  const within = truths.filter((truth) => hasToken(response.slice(from), truth))
  const [truth] = within
  const prompt = promptText(sample.prompt)
  if (truth !== undefined && (within.length === 1 || !isList(sample.groundTruth))) {
    const last = [...response.slice(from).matchAll(tokenPattern(truth))].at(-1)
    const start = from + (last?.index ?? 0)
    const end = start + truth.length
    return {
      start,
      end,
      isSingle: true,
      value: valueFrom(truth, prompt, nearTexts(response, start, end, nears), truths),
    }
  }
  const marked = committedSpan(response, from)
  if (marked === null) return null
  const [start, end] = marked
  const right = response.slice(start, end)
  if (right.length > longestValue || structured.test(right) || right.includes('\n')) return null
  const isSingle = truth === undefined && sample.groundTruth !== null && !isStructured(sample.groundTruth)
  return {
    start,
    end,
    isSingle,
    value: valueFrom(right, prompt, nearTexts(response, start, end, nears), truths),
  }
}

const isList = (truth: Json): boolean => Array.isArray(truth)
const isStructured = (truth: Json): boolean =>
  typeof truth === 'object' && truth !== null && truthTexts(truth).length === 0

/** The texts of a ground truth of one value or of alternatives. Empty for truths of several parts. */
function truthTexts(truth: Json): readonly string[] {
  if (typeof truth === 'number' || typeof truth === 'boolean') return [String(truth)]
  if (typeof truth === 'string') {
    const text = (truth.split('####').at(-1) ?? '').trim()
    const [, boxed = text] = /^\$*\\boxed\{(.*)\}\$*$/.exec(text) ?? []
    return boxed === '' || boxed.length > longestValue || /\n|<\w/.test(boxed) || structured.test(boxed)
      ? []
      : [boxed]
  }
  if (Array.isArray(truth)) {
    const items = truth as readonly Json[]
    return items.length > 20 || items.some((item) => typeof item === 'object')
      ? []
      : items.flatMap(truthTexts)
  }
  if (truth === null) return []
  const entries = Object.entries(truth)
  const [only] = entries
  return entries.length === 1 && only ? truthTexts(only[1]) : []
}

/** The text that a response marks as its answer: in a tag, a box, after a mark or in its last sentence. */
function committedSpan(response: string, from: number): readonly [number, number] | null {
  const text = response.slice(from)
  const patterns = [
    /<answer>\s*([^<]*?)\s*<\/answer>/g,
    /\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}/g,
    /^#+[^\S\n]*(\S[^\n]*)$/gm,
    /\b(?:answer|result|solution)(?:\s+is|\s*:|\s*=)[^\S\n]*([^\n]*?)[.。]?[^\S\n]*$/gim,
  ]
  for (const pattern of patterns) {
    const last = [...text.matchAll(pattern)].at(-1)
    const inside = last?.[1] ?? ''
    if (!last || inside === '') continue
    const start = from + last.index + last[0].lastIndexOf(inside)
    return [start, start + inside.length]
  }
  return null
}

/** What given near misses have in the same place. */
function nearTexts(
  response: string,
  start: number,
  end: number,
  nears: readonly string[],
): readonly string[] {
  const before = response.slice(Math.max(0, start - 4), start)
  const after = response.slice(end, end + 4)
  return nears.flatMap((near) => {
    const at = before === '' ? 0 : near.lastIndexOf(before)
    if (at < 0) return []
    const from = at + before.length
    const to = after === '' ? near.length : near.indexOf(after, from)
    const text = to < 0 ? '' : near.slice(from, to).trim()
    return text === '' || text.length > longestValue || text.includes('\n') ? [] : [text]
  })
}

/** The value with wrong ones: given near misses first, then made ones. */
function valueFrom(
  right: string,
  prompt: string,
  nears: readonly string[],
  truths: readonly string[],
): Value {
  const plain = right.replace(/^\$|^[-−]?\\\$|,(?=\d{3}\b)/g, '').replace('−', '-')
  const isNumber = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)$/.test(plain) && plain.length <= 15
  const number = isNumber ? Number(plain) : null
  const kind = kindOf(right, isNumber)
  const allowed = truths.filter((truth) => truth !== right)
  const wrongs = [...nears, ...wrongOnes(kind, right, number, prompt)].filter(
    (one) => one !== right && (number === null || Number(one) !== number) && !isAllowed(one, allowed),
  )
  return { kind, right, number, allowed, wrongs: [...new Set(wrongs)].slice(0, 4) }
}

/** Whether a ground truth of several values has this one, as a text or as a number. */
const isAllowed = (text: string, allowed: readonly string[]): boolean =>
  allowed.some((one) => one === text || Number(one) === Number(text))

const opposites: Readonly<Record<string, string>> = {
  ...{ yes: 'no', no: 'yes', true: 'false', false: 'true', correct: 'incorrect', incorrect: 'correct' },
}

function kindOf(right: string, isNumber: boolean): ValueKind {
  if (isNumber) return 'number'
  if (/^[A-J]$/.test(right)) return 'choice'
  if (opposites[right.toLowerCase()]) return 'word'
  if (
    /\\[a-z]+|[\^=<>≤≥]|^[\d\s()[\]{}+*/.,^-]+$|^[a-z]?\d*[a-z]$|\d[a-z]\b|[a-z]\s*[+*/^-]\s*\d/i.test(right)
  )
    return 'formula'
  return 'text'
}

function wrongOnes(kind: ValueKind, right: string, number: number | null, prompt: string): readonly string[] {
  if (number !== null) return [number + 1, number + 7, 2 * number + 5, 3 * number + 11].map(shortest)
  if (kind === 'choice') {
    const listed = [...prompt.matchAll(/(?<![A-Za-z])([A-J])[.):]/g)].map(([, letter = '']) => letter)
    const letters = new Set(listed).size >= 2 ? [...new Set(listed)] : ['A', 'B', 'C', 'D']
    const at = letters.indexOf(right)
    return letters.map((_, next) => letters[(at + 1 + next) % letters.length] ?? 'A')
  }
  const opposite = opposites[right.toLowerCase()]
  if (opposite) return [right === right.toUpperCase() ? opposite.toUpperCase() : opposite]
  if (kind === 'formula') {
    const digits = [...right.matchAll(/\d/g)].map(({ index }) => index)
    const changed = [...digits.map((at) => [at, 1] as const), ...digits.map((at) => [at, 4] as const)].map(
      ([at, by]) => `${right.slice(0, at)}${(Number(right[at]) + by) % 10}${right.slice(at + 1)}`,
    )
    return [...changed, '17', '\\sqrt{19}', '\\frac{23}{5}'].filter((one) => !/\{0\}/.test(one))
  }
  return ['Timbuktu', 'heliotrope', 'Marmalade']
}

/** Numbers near a number in one way or another: neighbours, another sign, another power of ten. */
export function nearNumbers({ number, right, allowed }: Value): readonly string[] {
  if (number === null) return []
  const digits = right.replace(/\D/g, '')
  const shuffled = digits.length > 1 ? Number([...digits].reverse().join('')) : Number.NaN
  const near = [number + 1, number - 1, -number, number * 10, number / 10, number * 100, number / 100]
  const more = [number + 10, number * 1.05, number * 0.97, number + 0.5, shuffled, number / 2, number * 1000]
  return [...near, ...more]
    .map((one) => (Number.isFinite(one) && one !== number ? shortest(one) : ''))
    .filter((one) => one !== '' && !isAllowed(one, allowed))
}

const shortest = (number: number): string => String(Number(number.toPrecision(12)))
