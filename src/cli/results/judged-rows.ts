/** What judges said of labelled rows. */

import { basename } from 'node:path'
import { GatewayError } from '../../core/errors.ts'
import type { LabelledRow, NamedJudge, Said } from '../../workbench/analysis/judge-comparison.ts'
import { eachRow, isObject, valueAt } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import type { Io } from '../command.ts'
import { BadValue, misused, option, readNumber } from '../options.ts'
import type { ScoredBy } from './score-configs.ts'

/** The option for the prices of judges. */
export const pricesOption = option(
  'N,N...',
  'the price of a token of each judge, relative to the others (default: 1)',
  (given): readonly number[] => {
    const prices = given.split(',').map((one) => readNumber(one, { low: 0 }))
    if (prices.every((price) => price === 0)) throw new BadValue(`the prices '${given}' are all 0`)
    return prices
  },
)

/** Throws RG_COMMAND_INVALID if there are not as many prices as judges. */
export function pricedJudges(
  names: readonly string[],
  prices: readonly number[] | undefined,
  command: string,
): readonly NamedJudge[] {
  if (prices && prices.length !== names.length)
    throw misused(
      `--prices has ${prices.length} numbers for ${names.length} judges: ${names.join(', ')}`,
      command,
    )
  return names.map((name, at) => ({ name, price: prices?.[at] ?? 1 }))
}

/** People's labels by a row's id. */
interface Labels {
  /** For messages. */
  readonly file: string
  readonly byId: ReadonlyMap<string, boolean>
}

/** Whose labels, and where confidences stand. `terms`: the steps whose scores are read; empty: the reward. */
interface Places {
  readonly labels: Labels
  readonly terms: readonly string[]
  readonly confidence: string | undefined
}

/** The judges' names, and each labelled row that one of them scored or tried to score. */
interface JudgedRows {
  readonly names: readonly string[]
  readonly rows: readonly LabelledRow[]
}

const unasked: Said = { score: null, confidence: null, tokens: null }

/** The judges' names: a judge is a file, or a step of it. */
export const judgeNames = (files: readonly string[], terms: readonly string[]): readonly string[] =>
  files.flatMap((_file, at) =>
    (terms.length === 0 ? [undefined] : terms).map((term) => nameOf(files, at, term, terms)),
  )

/** Throws RG_INPUT_INVALID. */
export async function judgedRows(
  scored: readonly ScoredBy[],
  { labels, terms, confidence }: Places,
  io: Io,
): Promise<JudgedRows> {
  const names = judgeNames(
    scored.map(({ file }) => file),
    terms,
  )
  const { file: people, byId: labelled } = labels
  const said = new Map<string, Said[]>()
  const judges = terms.length === 0 ? [undefined] : terms
  for (const [file, { path, tokens }] of scored.entries()) {
    for await (const { value } of eachRow(await openRows(path, io.stdin))) {
      const id = String(valueAt(value, 'id'))
      if (!labelled.has(id)) continue
      const own = said.get(id) ?? []
      said.set(id, own)
      for (const [at, term] of judges.entries())
        own[file * judges.length + at] = {
          ...saidIn(value, term, confidence),
          tokens: tokens?.get(id) ?? (tokens === null ? null : 0),
        }
    }
  }
  const rows = [...said].map(([id, own]) => ({
    label: labelled.get(id) === true,
    said: names.map((_name, at) => own[at] ?? unasked),
  }))
  for (const [at, name] of names.entries())
    if (rows.every((row) => row.said[at]?.score === null))
      throw new GatewayError('RG_INPUT_INVALID', `${name}: no row has both a score and an id from ${people}`)
  if (rows.every(({ said }) => said.some(({ score }) => score === null)))
    throw new GatewayError(
      'RG_INPUT_INVALID',
      `no row of ${people} has a score of each of ${names.join(', ')}`,
    )
  return { names, rows }
}

function saidIn(row: unknown, term: string | undefined, place: string | undefined): Omit<Said, 'tokens'> {
  const score = valueAt(row, term === undefined ? 'reward' : `terms.${term}.score`)
  if (typeof score !== 'number') return { score: null, confidence: null }
  if (place === undefined) {
    const own = detailsConfidence(row, term)
    if (typeof own === 'number') return { score, confidence: own }
    return { score, confidence: score >= 0 && score <= 1 ? Math.max(score, 1 - score) : null }
  }
  const told = valueAt(row, term === undefined ? place : `terms.${term}.${place}`)
  return { score, confidence: typeof told === 'number' ? told : null }
}

/** What a decision judge says of the step, or of the only step of its reward. */
function detailsConfidence(row: unknown, term: string | undefined): unknown {
  const terms = valueAt(row, 'terms')
  const [only, ...others] = isObject(terms) ? Object.keys(terms) : []
  const step = term ?? (others.length === 0 ? only : undefined)
  return step === undefined ? undefined : valueAt(row, `terms.${step}.details.confidence`)
}

function nameOf(
  files: readonly string[],
  file: number,
  term: string | undefined,
  terms: readonly string[],
): string {
  const short = files.map((path) => basename(path).replace(/\.(?:jsonl(?:\.gz)?|parquet|ya?ml|json)$/, ''))
  const own = (new Set(short).size === files.length ? short : files)[file] ?? ''
  if (term === undefined || terms.length === 1) return own
  return files.length === 1 ? term : `${own} ${term}`
}

/** The labels of a file. Throws RG_INPUT_INVALID if it has none there: read them before a judge is paid. */
export async function readLabels(path: string, field: string, io: Io): Promise<Labels> {
  const labels = new Map<string, boolean>()
  let index = 0
  for await (const { value } of eachRow(await openRows(path, io.stdin))) {
    const id = String(valueAt(value, 'id') ?? index)
    const label = valueAt(value, field)
    index++
    if (label === true || label === 1) labels.set(id, true)
    else if (label === false || label === 0) labels.set(id, false)
  }
  if (labels.size > 0) return { file: path, byId: labels }
  throw new GatewayError('RG_INPUT_INVALID', `${path}: no row has true, false, 1 or 0 at '${field}'`)
}
