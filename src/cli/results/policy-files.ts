import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import { reasonOf } from '../../core/system-error.ts'
import type { BenchmarkAnswers, ComparisonOptions } from '../../workbench/analysis/policy-comparison.ts'
import { answeredPrompts } from '../../workbench/analysis/prompt-figures.ts'
import { type RunFacts, readRunFile } from '../../workbench/evaluation/evaluation.ts'
import type { Io } from '../command.ts'
import { misused } from '../options.ts'

/** The scored files of one policy: a single file, or those in a suite's folder. */
interface PolicyFiles {
  readonly name: string
  readonly files: readonly { readonly benchmark: string; readonly path: string; readonly facts: RunFacts }[]
}

const scored = /\.(?:jsonl(?:\.gz)?|parquet)$/
const beside = /\.(?:successes|failures|partial(?:\.answers)?)\.jsonl$/

/** Finds the files of each policy. A policy is named after its path's last part if this is unique. Throws RG_INPUT_INVALID. */
export async function policyFiles(paths: readonly string[]): Promise<readonly PolicyFiles[]> {
  const short = paths.map((path) => basename(path).replace(scored, ''))
  const names = new Set(short).size === paths.length ? short : paths
  const found = paths.map((path) => ({ path, isFolder: isFolder(path) }))
  if (new Set(found.map((one) => one.isFolder)).size > 1)
    throw misused('give files only, or folders of suites only')
  return Promise.all(
    found.map(async ({ path, isFolder }, at) => ({
      name: names[at] ?? path,
      files: inOrder(
        await Promise.all(
          (isFolder ? filesIn(path) : [path]).map(async (file) => ({
            benchmark: isFolder ? basename(file).replace(scored, '') : '',
            path: file,
            facts: await readRunFile(file),
          })),
        ),
      ),
    })),
  )
}

/** Sorts by the order in the suite, then by name. */
function inOrder(files: PolicyFiles['files']): PolicyFiles['files'] {
  const placeOf = ({ facts }: PolicyFiles['files'][number]) => Number(facts.place ?? 0)
  return files.toSorted((a, b) => placeOf(a) - placeOf(b) || (a.benchmark < b.benchmark ? -1 : 1))
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    throw new GatewayError('RG_INPUT_INVALID', `${path}: ${reasonOf(error)}`, { cause: error })
  }
}

function filesIn(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => scored.test(name) && !beside.test(name))
  if (names.length > 0) return names.map((name) => join(folder, name))
  throw new GatewayError('RG_INPUT_INVALID', `${folder}: contains no scored files`)
}

/** The answers to the benchmarks that all policies have in common, and warnings about the comparison. */
interface ReadPolicies {
  readonly answers: readonly (readonly BenchmarkAnswers[])[]
  readonly kOf: ComparisonOptions['kOf']
  readonly solvedAtOf: ComparisonOptions['solvedAtOf']
  readonly warnings: readonly string[]
}

/** Reads the answers of the policies. `k` and `solvedAt` override the run files; null: use the run files. */
export async function readPolicies(
  policies: readonly PolicyFiles[],
  { k, solvedAt }: { readonly k: number | null; readonly solvedAt: number | null },
  io: Io,
): Promise<ReadPolicies> {
  const [first] = policies
  const everywhere = (first?.files ?? []).filter(({ benchmark }) =>
    policies.every(({ files }) => files.some((file) => file.benchmark === benchmark)),
  )
  if (everywhere.length === 0)
    throw new GatewayError('RG_INPUT_INVALID', 'the folders have no benchmark in common')
  const named = (benchmark: string) =>
    policies.map(({ files }) => files.find((file) => file.benchmark === benchmark))
  const answers = await Promise.all(
    policies.map(async ({ files }) => {
      const own: BenchmarkAnswers[] = []
      for (const { benchmark } of everywhere) {
        const file = files.find((one) => one.benchmark === benchmark)
        if (file)
          own.push({
            benchmark: titleOf(benchmark, first),
            prompts: await answeredPrompts(file.path, io.stdin),
          })
      }
      return own
    }),
  )
  const factsOf = (title: string) =>
    named(everywhere.find(({ benchmark }) => titleOf(benchmark, first) === title)?.benchmark ?? '').map(
      (file) => file?.facts ?? {},
    )
  const most = (title: string) =>
    Math.min(
      ...answers.map((own) => answersARun(own.find(({ benchmark }) => benchmark === title)?.prompts ?? [])),
    )
  const told = (title: string, fact: string): readonly number[] =>
    factsOf(title).flatMap((facts) => (facts[fact] === undefined ? [] : [Number(facts[fact])]))
  return {
    answers,
    kOf: (title) =>
      k ??
      Math.min(
        ...told(title, 'k'),
        Number.POSITIVE_INFINITY,
        ...(told(title, 'k').length === 0 ? [most(title)] : []),
      ),
    solvedAtOf: (title) => solvedAt ?? told(title, 'solved_at')[0] ?? 1,
    warnings: [
      ...absentOf(policies),
      ...everywhere.flatMap(({ benchmark }) => unlikeOf(titleOf(benchmark, first), named(benchmark))),
    ],
  }
}

/** A single file takes the benchmark's name from its run file. */
const titleOf = (benchmark: string, first: PolicyFiles | undefined): string =>
  benchmark || first?.files[0]?.facts.benchmark || 'all'

const answersARun = (prompts: BenchmarkAnswers['prompts']): number => {
  let most = 1
  for (const { answers } of prompts) {
    const counts = new Map<number, number>()
    for (const { run } of answers) counts.set(run, (counts.get(run) ?? 0) + 1)
    most = Math.max(most, ...counts.values())
  }
  return most
}

function absentOf(policies: readonly PolicyFiles[]): readonly string[] {
  const all = new Set(policies.flatMap(({ files }) => files.map(({ benchmark }) => benchmark)))
  return policies.flatMap(({ name, files }) =>
    [...all]
      .filter((benchmark) => !files.some((file) => file.benchmark === benchmark))
      .map((benchmark) => `${name} has no ${benchmark}: it is left out`),
  )
}

const alike = ['reward', 'version', 'n', 'runs', 'limit', 'shuffle_seed', 'chat', 'sampling'] as const

function unlikeOf(
  title: string,
  files: readonly (PolicyFiles['files'][number] | undefined)[],
): readonly string[] {
  return alike.flatMap((fact) => {
    const values = new Set(files.flatMap((file) => file?.facts[fact] ?? []))
    return values.size > 1 ? [`${title}: the runs differ in ${fact}: ${[...values].join(' and ')}`] : []
  })
}
