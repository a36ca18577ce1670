import { GatewayError } from '../../core/errors.ts'
import type { BootstrapOptions } from '../../core/statistics/intervals.ts'
import { mean } from '../../core/statistics/summary.ts'
import {
  averaged,
  byFigure,
  columnsOf,
  differenceOf,
  type Estimate,
  type Estimates,
  estimatesOf,
  type FigureColumns,
  meansOf,
} from './estimates.ts'
import type { AnsweredPrompt } from './prompt-figures.ts'
import { type FigureName, tellAnswers } from './prompt-figures.ts'

/** One policy's answers to one benchmark. */
export interface BenchmarkAnswers {
  readonly benchmark: string
  readonly prompts: readonly AnsweredPrompt[]
}

export interface ComparisonOptions extends BootstrapOptions {
  /** The k of pass@k and maj@k for a benchmark. */
  kOf(benchmark: string): number
  /** The reward that counts as solved in a benchmark. */
  solvedAtOf(benchmark: string): number
}

/** A policy's figures in one part. */
interface PartPolicy {
  readonly prompts: number
  readonly answers: number
  /** Answers without a reward. No figure includes them. */
  readonly invalid: number
  readonly figures: Readonly<Record<FigureName, Estimate>>
  /** The mean and the sample standard deviation (n - 1) over runs. null if there is one run. */
  readonly overRuns: Readonly<
    Record<FigureName, { readonly mean: number; readonly deviation: number } | null>
  >
}

/** A later policy minus the first one, over the prompts that both answered. */
interface PartDifference {
  readonly prompts: number
  readonly figures: Readonly<Record<FigureName, Estimate>>
}

/** A benchmark, one of its data sources (`source`), or all benchmarks together (`benchmark` is null). */
export interface Part {
  readonly benchmark: string | null
  readonly source: string | null
  /** The k of pass@k and maj@k. null if benchmarks differ. */
  readonly k: number | null
  readonly policies: readonly PartPolicy[]
  /** One for each policy after the first. */
  readonly differences: readonly PartDifference[]
}

/**
 * Compares the first policy with each other one: for every benchmark, for its data sources if there are
 * several, and for the mean of the benchmarks. Throws RG_INPUT_INVALID if files answer different rows.
 */
export function compareAnswers(
  policies: readonly (readonly BenchmarkAnswers[])[],
  options: ComparisonOptions,
): readonly Part[] {
  const names = (policies[0] ?? []).map(({ benchmark }) => benchmark)
  const found = names.map((benchmark, at) => {
    const own = policies.map((files) => files.find((file) => file.benchmark === benchmark)?.prompts ?? [])
    checkSame(own, benchmark)
    const [whole, ...sources] = [null, ...sourcesOf(own)].map((source) => ({
      source,
      ...figured(own, source, benchmark, { ...options, seed: options.seed + at }),
    }))
    return { benchmark, whole: whole as Figured & { source: null }, sources }
  })
  const parts = found.flatMap(({ benchmark, whole, sources }) =>
    [whole, ...sources].map(({ source, part }) => ({ benchmark, source, ...part })),
  )
  return found.length < 2 ? parts : [...parts, suitePart(found.map(({ whole }) => whole))]
}

interface Figured {
  readonly part: Omit<Part, 'benchmark' | 'source'>
  readonly estimates: readonly Estimates[]
  readonly differences: readonly Estimates[]
}

function figured(
  policies: readonly (readonly AnsweredPrompt[])[],
  source: string | null,
  benchmark: string,
  options: ComparisonOptions,
): Figured {
  const own = policies.map((prompts) =>
    prompts.filter((prompt) => source === null || prompt.source === source),
  )
  const k = options.kOf(benchmark)
  const figureOptions = { k, solvedAt: options.solvedAtOf(benchmark), tellsAnswers: own.some(tellAnswers) }
  const tables = own.map((prompts) => columnsOf(prompts, figureOptions))
  const [first, ...others] = tables
  const gaps = others.map((other) => differenceOf(first as FigureColumns, other))
  const estimates = tables.map((table) => estimatesOf(table, options))
  const differences = gaps.map((gap) => estimatesOf(gap, options, true))
  return {
    estimates,
    differences,
    part: {
      k,
      policies: own.map((prompts, at) => {
        const runs = [...new Set(prompts.flatMap(({ answers }) => answers.map(({ run }) => run)))]
        const means =
          runs.length < 2 ? [] : runs.map((run) => meansOf(columnsOf(prompts, figureOptions, run)))
        return {
          ...counted(prompts),
          figures: figuresAt(estimates, at),
          overRuns: byFigure((figure) => spreadOf(means, figure)),
        }
      }),
      differences: gaps.map(({ prompts }, at) => ({
        prompts: prompts.length,
        figures: figuresAt(differences, at),
      })),
    },
  }
}

function suitePart(wholes: readonly Figured[]): Part {
  const at = (list: 'estimates' | 'differences', place: number) =>
    averaged(
      wholes.map((whole) => whole[list][place] as Estimates),
      list === 'differences',
    ).figures
  const total = (of: (part: Figured['part']) => number | undefined) =>
    wholes.reduce((sum, { part }) => sum + (of(part) ?? 0), 0)
  const [{ part: first }] = wholes as readonly [Figured]
  return {
    benchmark: null,
    source: null,
    k: wholes.every(({ part }) => part.k === first.k) ? first.k : null,
    policies: first.policies.map((_, place) => ({
      prompts: total(({ policies }) => policies[place]?.prompts),
      answers: total(({ policies }) => policies[place]?.answers),
      invalid: total(({ policies }) => policies[place]?.invalid),
      figures: at('estimates', place),
      overRuns: byFigure(() => null),
    })),
    differences: first.differences.map((_, place) => ({
      prompts: total(({ differences }) => differences[place]?.prompts),
      figures: at('differences', place),
    })),
  }
}

const figuresAt = (list: readonly Estimates[], at: number) => (list[at] as Estimates).figures

function counted(prompts: readonly AnsweredPrompt[]) {
  const answers = prompts.flatMap((prompt) => prompt.answers)
  return {
    prompts: prompts.length,
    answers: answers.length,
    invalid: answers.filter(({ reward }) => reward === null).length,
  }
}

function spreadOf(means: readonly Readonly<Record<FigureName, number | null>>[], figure: FigureName) {
  const known = means.map((one) => one[figure]).filter((value) => value !== null)
  if (known.length < 2) return null
  const center = mean(known)
  const squares = known.reduce((sum, value) => sum + (value - center) ** 2, 0)
  return { mean: center, deviation: Math.sqrt(squares / (known.length - 1)) }
}

/** The data sources in the order of the first file. Empty if there is only one. */
function sourcesOf(policies: readonly (readonly AnsweredPrompt[])[]): readonly string[] {
  const sources = [...new Set((policies[0] ?? []).map(({ source }) => source))]
  return sources.length < 2 ? [] : sources
}

function checkSame([first = [], ...others]: readonly (readonly AnsweredPrompt[])[], benchmark: string): void {
  const known = new Map(first.map((prompt) => [prompt.key, prompt]))
  const isTold = ({ key, cluster }: AnsweredPrompt) => cluster !== key
  for (const other of others) {
    const pairs = other.flatMap((prompt) => {
      const before = known.get(prompt.key)
      return before ? [{ before, prompt }] : []
    })
    const stray = pairs.find(
      ({ before, prompt }) => isTold(before) && isTold(prompt) && before.cluster !== prompt.cluster,
    )
    if (stray) throw unlike(benchmark, `row ${stray.prompt.key} has different prompts`)
    if (pairs.length === 0) throw unlike(benchmark, 'they have no rows in common')
  }
}

const unlike = (benchmark: string, why: string): GatewayError =>
  new GatewayError('RG_INPUT_INVALID', `the files of ${benchmark} do not answer the same data: ${why}`)
