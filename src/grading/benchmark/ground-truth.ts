import { trimSpace } from '../white-space.ts'
import { publishedAnswer } from './published-answer.ts'
import { stripAnswer } from './strip-answer.ts'

/** A line of a benchmark's file, as it is published. */
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

/** A benchmark that the published harness knows. */
export type Benchmark = keyof typeof answerFields

/** All of them. */
export const benchmarks = Object.keys(answerFields) as Benchmark[]

const fromSolution: ReadonlySet<Benchmark> = new Set(['math', 'math500', 'minerva_math'])

/** Where a benchmark's line keeps its answer: a field of its own, or `gt` and `gt_cot`; of some the whole solution. */
export function answerField(line: BenchmarkLine, benchmark: Benchmark): string {
  if (!hasGraded(line)) return answerFields[benchmark](line)
  return written(fromSolution.has(benchmark) && benchmark !== 'minerva_math' ? line.gt_cot : line.gt)
}

/** The answer of a line in the spelling by which the published grader compares. */
export function preparedLine(line: BenchmarkLine, benchmark: Benchmark): string {
  const answer = answerField(line, benchmark)
  const isSolution = fromSolution.has(benchmark) && !(hasGraded(line) && benchmark === 'minerva_math')
  const text = isSolution ? (publishedAnswer(answer, benchmark) ?? '') : answer
  return benchmark === 'minerva_math' ? withShortRelations(text) : stripAnswer(text, false)
}

/** The same of an answer on its own, or of a solution that boxes it. */
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
