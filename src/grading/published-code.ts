/**
 * What verl's prime_code and sandbox_fusion, LiveCodeBench and Open-Instruct do with a response of code: the program that they take from it,
 * what they run, and the score that they give.
 */

import type { Json } from '../core/sample/sample.ts'
import { fusionProgram, fusionResults, fusionRun, fusionSeconds, fusionTestsOf } from './published-fusion.ts'
import { publishedHarness } from './published-harness.ts'
import { afterLast } from './tags.ts'

/** Whose code grades in mode `published`. */
export const codeGraders = ['prime_code', 'sandbox_fusion', 'livecodebench', 'open_instruct'] as const
export type CodeGrader = (typeof codeGraders)[number]

/** The kinds of model by which LiveCodeBench takes a program from a response. */
export const lcbStyles = ['chat', 'base', 'codellama', 'server'] as const
export type LcbStyle = (typeof lcbStyles)[number]

/** The program that a grader takes from a response. null: it takes none. Linear in the text. */
export function publishedProgram(response: string, grader: CodeGrader, style: LcbStyle): string | null {
  if (grader === 'prime_code') return before(afterLast(response, '```python'), '```')
  if (grader === 'sandbox_fusion') return fusionProgram(response)
  if (grader === 'open_instruct') return lastBetween(response) ?? response
  return lcbProgram(response, style)
}

const before = (text: string, mark: string): string => {
  const at = text.indexOf(mark)
  return at < 0 ? text : text.slice(0, at)
}

/** Between the last pair of fences, wherever they stand. */
function lastBetween(text: string): string | null {
  const mark = '```'
  let found: string | null = null
  for (let at = text.indexOf(mark); at >= 0; ) {
    const from = text.startsWith('python', at + 3) ? at + 9 : at + 3
    const end = text.indexOf(mark, from)
    if (end < 0) break
    found = text.slice(from, end)
    at = text.indexOf(mark, end + 3)
  }
  return found === null ? null : pythonStrip(found)
}

function lcbProgram(response: string, style: LcbStyle): string | null {
  if (style === 'base') return pythonStrip(response)
  if (style === 'server') {
    const from = response.indexOf('```python\n') + 10
    const end = from < 10 ? -1 : response.indexOf('\n```', from + 1)
    return pythonStrip(end < 0 ? response : response.slice(from, end))
  }
  // The original finds the marks of CodeLlama and then returns nothing.
  if (style === 'codellama') return null
  const lines = response.split('\n')
  const marks = lines.flatMap((line, at) => (line.includes('```') ? [at] : []))
  const [open, close] = marks.slice(-2)
  return open === undefined || close === undefined ? '' : lines.slice(open + 1, close).join('\n')
}

const blank = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const leading = new RegExp(`^${blank}+`)
const isBlank = new RegExp(`^${blank}$`)

/** Python's `strip()`. */
function pythonStrip(text: string): string {
  let end = text.length
  while (end > 0 && isBlank.test(text[end - 1] as string)) end--
  return text.slice(0, end).replace(leading, '')
}

/** Whether Open-Instruct refuses to run a program for a word in it, comments included. */
const openInstructRefuses = (program: string): boolean =>
  ['threading', 'multiprocess', 'import os', 'from os', 'shutil', 'import torch', 'from torch'].some((word) =>
    program.includes(word),
  ) || /(?:import|from) sklearn/.test(program)

/** Open-Instruct's score of results (1 or 0) and runtimes (-1 for a failed test) under a limit of seconds. */
export function openInstructScore(
  results: readonly number[],
  runtimes: readonly number[],
  limit: number,
  { threshold, penalty }: { readonly threshold: number; readonly penalty: boolean },
): number {
  if (results.length === 0) return 0
  const rate = results.reduce((sum, one) => sum + one, 0) / results.length
  if (rate < threshold) return 0
  if (!penalty || rate === 0) return rate
  return (
    results.reduce((sum, one, at) => sum + one * ((limit - (runtimes[at] ?? -1)) / limit), 0) / results.length
  )
}

/** The options of code-tests that mode `published` reads. */
export interface PublishedOptions {
  readonly grader: CodeGrader | 'auto'
  readonly lcb_style: LcbStyle
  readonly perf_penalty: boolean
  readonly threshold: number
  readonly limit_s?: number | undefined
  readonly memory_mb: number
}

/** inputs, outputs and fn_name, as prime_code and LiveCodeBench read them. */
interface Lists {
  readonly inputs: readonly Json[]
  readonly outputs: readonly Json[]
  readonly fn_name?: Json
}

/** An execution, as program rewards return it. */
interface PublishedExecution {
  readonly language: 'python'
  readonly program: string
  readonly cases: readonly (HarnessCall | { readonly stdin: string })[]
  readonly limits: {
    readonly cpuSeconds: number
    readonly wallSeconds: number
    readonly totalSeconds: number
    readonly memoryMb: number
  }
  readonly stop: 'first_passes' | 'never'
  readonly report: 'outputs'
}

interface HarnessCall {
  readonly call: string
  readonly args: string
  readonly expected?: { readonly json: string }
}

/** What became of a call. */
interface Called {
  readonly ended: string
  readonly passed: boolean
  readonly stdout?: string
  readonly value?: Json
}

interface PublishedScore {
  readonly value: number
  readonly parts: { readonly compiled: number; readonly passed: number }
  readonly details: Readonly<Record<string, Json>>
  readonly flags?: readonly string[]
}

type Job =
  | { readonly grader: 'prime_code' | 'livecodebench'; readonly tests: Lists | null }
  | { readonly grader: 'sandbox_fusion'; readonly tests: Readonly<Record<string, Json>> | null }
  | { readonly grader: 'open_instruct'; readonly tests: readonly Json[] }

/** prime_code's seconds: of a test and of all tests in its first pass, of a test and of its process after that. */
const primeSeconds = [5, 6, 10, 11] as const
/** Tests that prime_code runs one by one. */
const primeTests = 10
const lcbSeconds = 6
const openInstructSeconds = 1

/** Forms of ground truths that no published grader reads: a score of theirs would be made up. */
const otherForms = [
  'private_test_cases',
  'input_output',
  'unit_tests',
  'verifier_metadata',
  'test_list',
  'entry_point',
]

/**
 * What is run for a response, or the score that needs no run. null: no grader is known by the form of the ground truth,
 * or it is a form of another data set.
 */
export function publishedExecution(
  response: string,
  truth: unknown,
  options: PublishedOptions,
): PublishedExecution | PublishedScore | null {
  const job = jobOf(truth, options)
  if (job === null) return null
  const program = publishedProgram(response, job.grader, options.lcb_style)
  if (job.tests === null || program === null) return unpaid(null)
  if (job.grader === 'sandbox_fusion') {
    const tests = fusionTestsOf(job.tests)
    const run = tests && fusionRun(program, tests)
    if (!run || run.cases.length === 0) return unpaid(tests && fusionResults(tests, []))
    const { limit_s: limit = fusionSeconds } = options
    return {
      language: 'python',
      ...run,
      limits: { cpuSeconds: limit, wallSeconds: limit, totalSeconds: 3600, memoryMb: options.memory_mb },
      stop: 'never',
      report: 'outputs',
    }
  }
  if (job.grader === 'open_instruct' && (job.tests.length === 0 || openInstructRefuses(program)))
    return unpaid(job.tests.map(() => 0))
  const { cases, seconds } = casesOf(job, program, options)
  const limits = {
    cpuSeconds: seconds,
    wallSeconds: seconds,
    totalSeconds: 3600,
    memoryMb: options.memory_mb,
  }
  return {
    language: 'python',
    program: publishedHarness,
    cases,
    limits,
    stop: job.grader === 'prime_code' ? 'first_passes' : 'never',
    report: 'outputs',
  }
}

/** The grader's score. */
export function publishedScore(
  { cases }: { readonly cases: readonly Called[] },
  truth: unknown,
  options: PublishedOptions,
): PublishedScore | null {
  const job = jobOf(truth, options)
  if (job === null) return null
  const [first, ...others] = cases
  if (job.grader === 'open_instruct') {
    const { results, runtimes } = ranOf(job.tests, cases)
    const limit = options.limit_s ?? openInstructSeconds
    const { threshold, perf_penalty: penalty } = options
    return scoreOf(openInstructScore(results, runtimes, limit, { threshold, penalty }), results)
  }
  if (job.grader === 'sandbox_fusion') {
    const tests = fusionTestsOf(job.tests)
    const results = tests ? fusionResults(tests, cases) : []
    return scoreOf(results.filter((one) => one === true).length / Math.max(1, results.length), results)
  }
  const { inputs = [] } = job.tests ?? {}
  if (job.grader === 'livecodebench') {
    const results = first?.ended === 'ok' ? (first.value ?? null) : [-2]
    return scoreOf(Number(first?.passed ?? false), results)
  }
  const asked = Math.min(inputs.length, primeTests)
  const share = others.filter(({ passed }) => passed).length / Math.max(1, asked)
  const failed = (size: number): Json => Array.from({ length: size }, () => -1)
  const results = first?.ended === 'ok' ? (first.value ?? null) : failed(inputs.length)
  const single = others.map(({ ended, value }) => (ended === 'ok' ? (value ?? null) : failed(1)))
  return scoreOf(first?.passed ? 1 : share, results, single)
}

const unpaid = (results: readonly Json[] | null): PublishedScore => ({
  value: 0,
  parts: { compiled: 0, passed: 0 },
  details: { results: results?.slice(0, 50) ?? null },
})

/** `results`: of all tests at once, at most 50 are shown. `single`: of tests one by one. */
function scoreOf(value: number, results: Json, single?: readonly Json[]): PublishedScore {
  const told = Array.isArray(results) ? (results as readonly Json[]).slice(0, 50) : results
  return {
    value,
    parts: { compiled: 1, passed: value },
    details: { results: told, ...(single && single.length > 0 && { one_by_one: single }) },
    flags: ['weak_tests'],
  }
}

function casesOf(
  { grader, tests }: Job,
  program: string,
  options: PublishedOptions,
): { readonly cases: readonly HarnessCall[]; readonly seconds: number } {
  const call = (name: string, ...args: readonly unknown[]) => ({ call: name, args: JSON.stringify(args) })
  const all = (size: number) => ({ json: JSON.stringify(Array.from({ length: size }, () => true)) })
  if (grader === 'open_instruct') {
    const { limit_s: limit = openInstructSeconds } = options
    if (isRecords(tests))
      return {
        cases: [call('open_instruct_stdio', program, tests, limit)],
        seconds: Math.min(3600, limit * tests.length + 5),
      }
    return { cases: tests.map((test) => call('open_instruct_assert', program, test)), seconds: limit }
  }
  const { inputs, outputs } = tests as Lists
  if (grader === 'livecodebench') {
    const { limit_s: limit = lcbSeconds } = options
    const whole = Math.ceil(limit)
    return {
      cases: [{ ...call('livecodebench', program, tests, whole), expected: all(inputs.length) }],
      seconds: Math.min(3600, (whole + 1) * inputs.length + 5),
    }
  }
  const [each, total, single, most] = primeSeconds
  // The original forgets the function's name here, and gives 0 where an output is missing.
  const alone = (outputs.length < inputs.length ? [] : inputs).slice(0, primeTests).map((input, at) => ({
    ...call('prime', program, { inputs: [input], outputs: [outputs[at] as Json] }, single, most),
    expected: all(1),
  }))
  const together = { ...call('prime', program, tests, each, total), expected: all(inputs.length) }
  return { cases: [together, ...alone], seconds: most + 1 }
}

/** Open-Instruct's results and runtimes. A process that did not end well has failed its tests. */
function ranOf(tests: readonly Json[], cases: readonly Called[]) {
  const listIn = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
  const [all, times] = isRecords(tests) ? listIn(cases[0]?.value).map(listIn) : []
  const pairs = tests.map((_, at): readonly [number, number] => {
    const [result, runtime] = isRecords(tests) ? [all?.[at], times?.[at]] : listIn(cases[at]?.value)
    return [numberIn(result, 0), numberIn(runtime, -1)]
  })
  return { results: pairs.map(([result]) => result), runtimes: pairs.map(([, runtime]) => runtime) }
}

/** A number of Python's, as outputs of cases tell it. */
function numberIn(value: Json | undefined, or: number): number {
  if (typeof value === 'number') return value
  return isRecord(value) && typeof value.float === 'string' ? Number(value.float) : or
}

const isRecord = (value: unknown): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isRecords = (tests: unknown): boolean => Array.isArray(tests) && isRecord(tests[0])

/** null where the grader reads no tests and gives 0. */
function jobOf(truth: unknown, { grader: wanted }: PublishedOptions): Job | null {
  const read = typeof truth === 'string' ? fromText(truth) : truth
  const grader = wanted === 'auto' ? graderOf(read) : wanted
  if (grader === null || (isRecord(read) && otherForms.some((form) => Object.hasOwn(read, form)))) return null
  if (grader === 'open_instruct') {
    if (typeof read === 'string') return { grader, tests: [...read] }
    return { grader, tests: Array.isArray(read) ? (read as readonly Json[]) : [] }
  }
  if (!isRecord(read)) return { grader, tests: null }
  if (grader === 'sandbox_fusion') return { grader, tests: read }
  const { inputs, outputs } = read
  if (!Array.isArray(inputs) || !Array.isArray(outputs)) return { grader, tests: null }
  return { grader, tests: read as unknown as Lists }
}

function fromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function graderOf(truth: unknown): CodeGrader | null {
  if (Array.isArray(truth)) return 'open_instruct'
  if (isRecord(truth) && ('inputs' in truth || 'assert_case' in truth)) return 'prime_code'
  return null
}
