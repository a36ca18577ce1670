import { join } from 'node:path'
import { didYouMean } from '../../core/nearest-name.ts'
import { pathText } from '../../scoring/plan/config-text.ts'
import type { Lengths } from '../../workbench/dataset/lengths.ts'
import { eachRow } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { type PuzzleSettings, puzzles } from '../../workbench/prepare/countdown.ts'
import { families } from '../../workbench/prepare/families.ts'
import type { Family } from '../../workbench/prepare/family.ts'
import type { Prepared } from '../../workbench/prepare/prepare.ts'
import { prepare, type SourceItem } from '../../workbench/prepare/prepare.ts'
import { readSplits } from '../../workbench/prepare/splits.ts'
import { defineCommand, type Io } from '../command.ts'
import { configsOf, functionOptions, inlineReward, withGateway } from '../gateway.ts'
import { localData } from '../local-data.ts'
import { file, misused, oneOf, option, readWhole, seed, text, whole } from '../options.ts'
import { textTable } from '../output.ts'
import { progressLine } from '../progress.ts'

const kinds = [...families.keys(), 'subset']

/** Exit code 1 if no row could be used, or if it was stopped by a signal. */
export const command = defineCommand({
  name: 'prepare',
  summary: 'makes verified training rows from published sources',
  synopsis: [
    'KIND SOURCE... --output DIR',
    'countdown --generate N --output DIR',
    'subset FILE --output FILE',
  ],
  about: `Makes training rows in verl's format (data_source, prompt, reward_model.ground_truth, extra_info, rm_prompt_<i>) from
published sources: Parquet, JSON lines (.gz, too) or one JSON array. Each row is scored before it is written, by the
rule of its kind or by --function: its ground truth must be accepted, its right answer must earn full marks, and a wrong
one less. Rows that fail are dropped; DIR/dropped.jsonl says which and why.

KIND is one of:
${[...families.values()].map(({ name, source }) => `  ${name.padEnd(10)}  ${source}`).join('\n')}

reward-gateway prepare subset draws a validation subset of a file; it has its own help.`,
  example: 'gsm8k train.parquet --output data --split train,test=0.05',
  options: {
    output: file('DIR', 'the folder that the files are written to', { suggests: 'folders' }),
    split: text(
      'SPLITS',
      'a file for each name, e.g. train,test=0.05: a share or a number of rows, drawn with the seed; one takes the rest',
      {
        or: 'train',
      },
    ),
    'max-samples': whole('N', 'writes at most this many rows: the first usable ones', { low: 1 }),
    seed: seed('makes the draws repeatable', { or: 42 }),
    files: oneOf(['parquet', 'jsonl', 'both'], 'the form of the files', { or: 'parquet' }),
    'data-source': text('NAME', 'the data_source of the rows, instead of the default'),
    'reward-type': text(
      'NAME',
      'the reward type of npg-muse rows without one (default ratio_quality_format_repeat)',
    ),
    ...functionOptions,
    generate: whole('N', 'makes N countdown puzzles instead of reading sources', {
      low: 1,
      high: 10_000_000,
    }),
    numbers: option(
      'SIZES',
      'how many numbers a puzzle has, 2 to 6, separated by commas (default 3,4)',
      (given) => given.split(',').map((size) => readWhole(size, { low: 2, high: 6 })),
    ),
    largest: whole('N', 'the largest number of a puzzle', { low: 1, high: 1_000_000, or: 99 }),
    highest: whole('N', 'the highest target of a puzzle', { low: 1, high: 1_000_000_000, or: 999 }),
  },
  positionals: kinds,
  async run({ values, positionals }, io) {
    const [name, ...files] = positionals
    const family = familyOf(name)
    const { output, seed, files: form, 'max-samples': maxRows = Number.POSITIVE_INFINITY } = values
    if (!output) throw misused('--output is needed', 'prepare')
    const splits = readSplits(values.split)
    const generated = puzzlesOf(family, values)
    if ((files.length === 0) === (generated === null))
      throw misused('sources or --generate are needed', 'prepare')
    const { 'data-source': dataSource, 'reward-type': rewardType } = values
    const sources = { ...rewardOf(family, values), functionFolders: values['reward-functions'] }
    const reading: { fraction(): number | null } = { fraction: () => null }
    return withGateway(sources, io, async (gateway) => {
      const progress = progressLine(io, { fraction: () => reading.fraction(), calls: () => 0, done: 0 })
      try {
        const prepared = await prepare({
          family,
          options: { ...(dataSource && { dataSource }), ...(rewardType && { rewardType }) },
          items: generated ? itemsOf(puzzles(generated)) : itemsOfFiles(files, io, reading),
          gateway,
          reward: values.function ?? family.name,
          folder: output,
          files: form === 'both' ? ['parquet', 'jsonl'] : [form],
          splits,
          seed,
          maxRows,
          signal: io.signal,
          onProgress: (rows, dropped) => progress.add(rows, dropped),
        })
        progress.end()
        io.stdout.write(preparedText(prepared, output))
        return Object.values(prepared.written).some((rows) => rows > 0) ? 0 : 1
      } catch (error) {
        progress.end()
        if (!io.signal.aborted) throw error
        io.stderr.write('stopped; nothing was written\n')
        return 1
      }
    })
  },
})

function familyOf(name = ''): Family {
  const family = families.get(name)
  if (family) return family
  if (name === '') throw misused(`a kind of data is needed: ${kinds.join(', ')}`, 'prepare')
  throw misused(`there is no kind of data '${name}'${didYouMean(name, kinds)}`, 'prepare')
}

function rewardOf(
  family: Family,
  values: { readonly function: string | undefined; readonly options: object | undefined },
) {
  if (values.function !== undefined) return configsOf(values)
  return inlineReward(family.name, family.steps, (path) => `the rule of ${family.name}: ${pathText(path)}`)
}

function puzzlesOf(
  family: Family,
  values: {
    readonly generate: number | undefined
    readonly numbers: readonly number[] | undefined
    readonly largest: number
    readonly highest: number
    readonly seed: number
  },
): PuzzleSettings | null {
  const { generate: count, numbers: sizes = [3, 4], largest, highest, seed } = values
  if (count === undefined) return null
  if (family.name !== 'countdown') throw misused('--generate makes countdown puzzles only')
  return { count, sizes, largest, highest, seed }
}

function* itemsOf(rows: Iterable<unknown>): Generator<SourceItem> {
  let row = 0
  for (const value of rows) yield { value, file: 'generated', row: ++row }
}

async function* itemsOfFiles(
  files: readonly string[],
  io: Io,
  reading: { fraction(): number | null },
): AsyncGenerator<SourceItem> {
  for (const [at, file] of files.entries()) {
    const source = await openRows(await localData(file, io), io.stdin)
    reading.fraction = () => {
      const part = source.fraction()
      return part === null ? null : (at + part) / files.length
    }
    let row = 0
    for await (const { value } of eachRow(source)) yield { value, file, row: ++row }
  }
}

/** The report of `prepare` for people. */
function preparedText(prepared: Prepared, folder: string): string {
  const { read, written, dropped, withoutGold, lengths, paths } = prepared
  const lines = [
    `${read} rows read; ${Object.entries(written)
      .map(([split, rows]) => `${split}: ${rows}`)
      .join(', ')}`,
    ...paths.map((path) => `  ${path}`),
  ]
  const reasons = Object.entries(dropped).sort(([, a], [, b]) => b - a)
  if (reasons.length > 0) {
    const count = reasons.reduce((sum, [, rows]) => sum + rows, 0)
    lines.push('', `${count} dropped; ${join(folder, 'dropped.jsonl')} names them:`)
    lines.push(...reasons.map(([reason, rows]) => `  ${String(rows).padStart(6)}  ${reason}`))
  }
  if (withoutGold > 0)
    lines.push('', `${withoutGold} rows have no right answer: only their ground truth was checked`)
  return `${[...lines, '', lengthTable(lengths)].join('\n')}\n`
}

function lengthTable(lengths: Readonly<Record<string, Lengths | null>>): string {
  const right = ['median', '95 %', 'longest', 'tokens, about'].map((title) => ({ title, right: true }))
  return textTable(
    [{ title: 'characters' }, ...right],
    Object.entries(lengths).flatMap(([name, found]) =>
      found ? [[name, found.median, found.p95, found.max, found.maxTokens].map(String)] : [],
    ),
  )
}
