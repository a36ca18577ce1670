import { trimSpace } from '../characters.ts'
import { symbolicallyEqual } from '../math/index.ts'
import { insides, isNearOrPercent } from '../math-equal.ts'
import { readFloat } from '../python.ts'
import { gradedChoice, publishedAnswer, readChoice, stripAnswer } from './answer.ts'

/** A line of a benchmark's published file. */
export type BenchmarkLine = Readonly<Record<string, unknown>>

const written = (value: unknown): string =>
  typeof value === 'number' && Number.isInteger(value) ? `${value}` : String(value ?? '')

const field =
  (name: string) =>
  (line: BenchmarkLine): string =>
    written(line[name])

const withoutDollars = (line: BenchmarkLine): string => {
  const text = written(line.answer)
  return trimSpace(text.replace(/^\$+/, '').replace(/(?<!\$)\$+$/, ''))
}

const answerFields = {
  math: field('solution'),
  math500: field('solution'),
  minerva_math: field('solution'),
  gsm8k: (line: BenchmarkLine) => trimSpace(written(line.answer).split('####').at(-1) ?? ''),
  svamp: field('Answer'),
  asdiv: (line: BenchmarkLine) => written(line.answer).replace(/\(.*?\)/g, ''),
  mawps: field('target'),
  tabmwp,
  mmlu_stem: (line: BenchmarkLine) => 'ABCD'[Number(line.answer)] ?? '',
  sat_math: field('Answer'),
  aqua: field('correct'),
  gaokao2023en: withoutDollars,
  college_math: withoutDollars,
  gaokao2024_mix: (line: BenchmarkLine) => written(line.choice_answer) || written(line.answer),
  aime24: field('answer'),
  aime25: field('answer'),
  amc23: field('answer'),
  cmath: field('answer'),
  lmb: field('answer'),
} as const

/** The name of a benchmark of the published harness. */
export type Benchmark = keyof typeof answerFields

export const benchmarks = Object.keys(answerFields) as Benchmark[]

const fromSolution: ReadonlySet<Benchmark> = new Set(['math', 'math500', 'minerva_math'])

/**
 * The answer in a benchmark's line. It is in a field of its own, or in `gt` and `gt_cot`; some benchmarks
 * only have the whole solution.
 */
export function answerField(line: BenchmarkLine, benchmark: Benchmark): string {
  if (!hasGraded(line)) return answerFields[benchmark](line)
  return written(fromSolution.has(benchmark) && benchmark !== 'minerva_math' ? line.gt_cot : line.gt)
}

/** A line's answer in the normal form that the published grader compares. */
export function preparedLine(line: BenchmarkLine, benchmark: Benchmark): string {
  const answer = answerField(line, benchmark)
  const isSolution = fromSolution.has(benchmark) && !(hasGraded(line) && benchmark === 'minerva_math')
  const text = isSolution ? (publishedAnswer(answer, benchmark) ?? '') : answer
  return benchmark === 'minerva_math' ? withShortRelations(text) : stripAnswer(text, false)
}

/** An answer, or the boxed answer of a solution, in the same normal form. */
export function preparedAnswer(answer: string, benchmark: Benchmark): string {
  const text = answer.includes('\\boxed') ? (publishedAnswer(answer, benchmark) ?? '') : answer
  return benchmark === 'minerva_math' ? withShortRelations(text) : stripAnswer(text, false)
}

const hasGraded = (line: BenchmarkLine): boolean => Object.hasOwn(line, 'gt') && Object.hasOwn(line, 'gt_cot')

const withShortRelations = (text: string): string =>
  text.replaceAll('\\neq', '\\ne').replaceAll('\\leq', '\\le').replaceAll('\\geq', '\\ge')

function tabmwp(line: BenchmarkLine): string {
  const text = written(line.answer)
  if (line.ans_type !== 'integer_number' && line.ans_type !== 'decimal_number') return text
  const [over = '', under] = text.split('/')
  const value = under !== undefined ? Number(over) / Number(under) : tabmwpNumber(text)
  return Number.isFinite(value) ? `${value}` : ''
}

function tabmwpNumber(text: string): number {
  if (text.includes(',')) return Number(text.replaceAll(',', ''))
  return text.includes('%') ? Number(text.split('%')[0]) / 100 : Number(text)
}

const isLetter = (text: string): boolean => /^[A-E]$/.test(text)
const deepest = 20

/** Whether Qwen2.5-Math's grader treats two answers as equal. Its symbolic step uses our own algebra. */
export function publishedEqual(answer: string, truth: string, depth = deepest): boolean {
  if (trimSpace(answer).toLowerCase() === trimSpace(truth).toLowerCase()) return true
  if (isLetter(truth) && gradedChoice(answer) === truth) return true
  const [a, b] = [floatOf(answer), floatOf(truth)]
  if (a !== null && b !== null) return isNearOrPercent(a, b)
  if (answer === '' || depth === 0) return false
  return structurallyEqual(trimSpace(answer), asMatrix(trimSpace(answer), trimSpace(truth)), depth)
}

function structurallyEqual(answer: string, truth: string, depth: number): boolean {
  const [plain, plainTruth] = insides(answer, truth)
  if (plain.toLowerCase() === plainTruth.toLowerCase()) return true
  const same = (a: string, b: string): boolean => publishedEqual(a, b, depth - 1)
  const all = (a: readonly string[], b: readonly string[]): boolean =>
    a.length === b.length && a.every((part, k) => same(part, b[k] ?? ''))
  if (isBracketed(answer) && isBracketed(truth)) {
    if (all(answer.slice(1, -1).split(','), truth.slice(1, -1).split(','))) return true
  }
  const [rows, wanted] = [matrixRows(answer), matrixRows(truth)]
  if (rows && wanted && rows.length === wanted.length && rows.every((row, k) => all(row, wanted[k] ?? [])))
    return true
  const [left, right, ...more] = answer.split('=', 3)
  const [trueLeft, trueRight, ...trueMore] = truth.split('=', 3)
  const isEquation = right !== undefined && more.length === 0
  const truthIsEquation = trueRight !== undefined && trueMore.length === 0
  if (isEquation && truthIsEquation) {
    const [one, other] = [
      `${trimSpace(left ?? '')} - (${trimSpace(right)})`,
      `${trimSpace(trueLeft ?? '')} - (${trimSpace(trueRight)})`,
    ]
    if (sameExpression(one, other) || sameExpression(`-(${one})`, other)) return true
  } else if (isEquation && isShort(left) && trueRight === undefined) {
    if (same(right, truth)) return true
  } else if (truthIsEquation && isShort(trueLeft) && right === undefined && same(answer, trueRight))
    return true
  return sameExpression(answer, truth)
}

const sameExpression = (a: string, b: string): boolean => a === b || symbolicallyEqual(a, b, 1e-4)

const isShort = (side: string | undefined): boolean => [...trimSpace(side ?? '')].length <= 2

/** Python's `float` without commas, or a percentage divided by a hundred. null for other texts. */
function floatOf(text: string): number | null {
  const plain = text.replaceAll(',', '')
  const number = readFloat(plain)
  if (number !== null || !plain.endsWith('%')) return number
  const hundredfold = readFloat(plain.slice(0, plain.endsWith('\\%') ? -2 : -1))
  return hundredfold === null ? null : hundredfold / 100
}

/** Turns a truth `{a,b}` into a column vector if the other side is a matrix. */
function asMatrix(answer: string, truth: string): string {
  if (!answer.includes('pmatrix') || truth.includes('pmatrix')) return truth
  const open = truth.indexOf('{')
  const close = truth.lastIndexOf('}')
  const inner = open < 0 || close < open ? '' : truth.slice(open + 1, close)
  return inner.includes(',')
    ? `\\begin{pmatrix}${strippedBraces(inner).replaceAll(',', '\\')}\\end{pmatrix}`
    : ''
}

const strippedBraces = (text: string): string => text.replace(/^[{}]+/, '').replace(/(?<![{}])[{}]+$/, '')

const isBracketed = (text: string): boolean =>
  text.length > 2 && /^[([]/.test(text) && /[)\]]/.test(text.slice(2))

function matrixRows(text: string): string[][] | null {
  const inner = /^\\begin\{[pb]matrix\}([\s\S]*)\\end\{[pb]matrix\}$/.exec(text)?.[1]
  if (inner === undefined) return null
  const rows = inner.split('\\\\').map(trimSpace)
  return rows.filter((row) => row !== '').map((row) => row.split('&').map(trimSpace))
}

/** The answer that the harness reads, and whether it is right. */
export interface PublishedGrade {
  readonly extracted: string
  readonly correct: boolean
}

/**
 * The harness's grade of a response. `truth` is prepared. null if the answer is too long to strip in time.
 */
export function publishedGrade(response: string, truth: string, benchmark: Benchmark): PublishedGrade | null {
  const found = publishedAnswer(response, benchmark)
  if (found === null) return null
  const extracted = gradedAnswer(found, response, truth)
  return { extracted, correct: publishedEqual(extracted, truth) }
}

/**
 * The text to compare if the truth is one or more letters: the response's choice, or the answer's own
 * letters.
 */
export function gradedAnswer(answer: string, response: string, truth: string): string {
  if (/^[A-E]$/.test(truth)) return /^[A-E]$/.test(answer) ? answer : readChoice(response)
  return /^[A-E]*$/.test(truth) && /[^A-E]/.test(answer) ? answer.replace(/[^A-E]/g, '') : answer
}
