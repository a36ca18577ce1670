import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { pathText } from '../../scoring/plan/config-text.ts'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import type { Lengths } from '../../workbench/dataset/lengths.ts'
import { eachRow } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { type PuzzleSettings, puzzles } from '../../workbench/prepare/countdown.ts'
import { families } from '../../workbench/prepare/families.ts'
import type { Family } from '../../workbench/prepare/family.ts'
import type { Prepared } from '../../workbench/prepare/prepare.ts'
import { prepare, type SourceItem } from '../../workbench/prepare/prepare.ts'
import { readSplits } from '../../workbench/prepare/splits.ts'
import { given, misused, oneOf, parsed, seedNumber, text, textOr, wholeNumber } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { configsOf, functionOptions, inlineReward } from '../gateway.ts'
import { textTable } from '../output.ts'
import { tellWaiting } from '../parked-news.ts'
import { progressLine } from '../progress.ts'
import { command as subset } from './prepare-subset.ts'

const usage = `reward-gateway prepare ${[...families.keys()].join('|')} SOURCE... --output DIR [--split train,test=0.05]
                     [--max-samples N] [--seed N] [--files parquet|jsonl|both] [--data-source NAME]
                     [--reward-type NAME] [--function NAME [--options JSON]]
reward-gateway prepare countdown --generate N [--numbers 3,4] [--largest 99] [--highest 999] --output DIR ...
${subset.usage}

Makes training rows as verl reads them (data_source, prompt, reward_model.ground_truth, extra_info, rm_prompt_<i>) of
published sources: Parquet, JSON lines (.gz too) or one JSON array. Each row is scored before it is written, by the
family's rule or the one of --function: its ground truth must be accepted, its right answer must earn full marks, a wrong
one less. What cannot be used is dropped; DIR/dropped.jsonl says which row and why.

${[...families.values()].map(({ name, source }) => `${name.padEnd(10)} ${source}`).join('\n')}

--split        a file for each name: a share (0.05) or a number of rows (1024), drawn with the seed; one takes the rest
--max-samples  as many rows are written, the first that can be used
--reward-type  of npg-muse rows that name none (ratio_quality_format_repeat)`

const options = {
  output: text,
  split: textOr('train'),
  'max-samples': text,
  seed: textOr('42'),
  files: textOr('parquet'),
  'data-source': text,
  'reward-type': text,
  ...functionOptions,
  generate: text,
  numbers: textOr('3,4'),
  largest: textOr('99'),
  highest: textOr('999'),
} as const

/** Exit code 1 where no row could be used, or it was asked to end. */
export const command: Command = {
  summary: 'makes training rows of published sources, each of them proved',
  usage,
  async run(argv, io) {
    if (argv[0] === 'subset') return subset.run(argv.slice(1), io)
    const { values, positionals } = parsed(argv, options, 'files')
    const [name, ...files] = positionals
    const family = familyOf(name)
    if (!values.output) throw misused('--output is needed.', usage)
    const seed = seedNumber(values.seed)
    const splits = readSplits(values.split)
    const form = oneOf('files', values.files, ['parquet', 'jsonl', 'both'])
    const maxRows = given(values['max-samples'], (text) => wholeNumber('max-samples', text, 1))
    const generated = puzzlesOf(family, values, seed)
    if ((files.length === 0) === (generated === null))
      throw misused('sources or --generate are needed.', usage)
    const { 'data-source': dataSource, 'reward-type': rewardType } = values
    const news = tellWaiting(io, systemClock)
    const gateway = await openObservedGateway({
      ...rewardOf(family, values),
      functionFolders: values['reward-functions'],
      env: io.env,
      events: { models: { parked: news.parked } },
    })
    const reading: { fraction(): number | null } = { fraction: () => null }
    const progress = progressLine(io, { fraction: () => reading.fraction(), calls: () => 0, done: 0 })
    try {
      const prepared = await prepare({
        family,
        options: { ...(dataSource && { dataSource }), ...(rewardType && { rewardType }) },
        items: generated ? itemsOf(puzzles(generated)) : itemsOfFiles(files, io, reading),
        gateway,
        reward: values.function ?? family.name,
        folder: values.output,
        files: form === 'both' ? ['parquet', 'jsonl'] : [form],
        splits,
        seed,
        maxRows: maxRows ?? Number.POSITIVE_INFINITY,
        signal: io.signal,
        onProgress: (rows, dropped) => progress.add(rows, dropped),
      })
      progress.end()
      io.stdout.write(preparedText(prepared, values.output))
      return Object.values(prepared.written).some((rows) => rows > 0) ? 0 : 1
    } catch (error) {
      progress.end()
      if (!io.signal.aborted) throw error
      io.stderr.write('stopped; nothing was written\n')
      return 1
    } finally {
      news.end()
      await gateway.close(0)
    }
  },
}

function familyOf(name = ''): Family {
  const family = families.get(name)
  if (family) return family
  const kinds = [...families.keys(), 'subset']
  if (name === '') throw misused(`say which kind of data: ${kinds.join(', ')}`, usage)
  throw misused(`there is no kind of data '${name}'${didYouMean(name, kinds)}`, usage)
}

function rewardOf(family: Family, values: { function?: string | undefined; options: string }) {
  if (values.function !== undefined) return configsOf(values)
  return inlineReward(family.name, family.steps, (path) => `the rule of ${family.name}: ${pathText(path)}`)
}

function puzzlesOf(
  family: Family,
  values: { generate?: string | undefined; numbers: string; largest: string; highest: string },
  seed: number,
): PuzzleSettings | null {
  if (values.generate === undefined) return null
  if (family.name !== 'countdown') throw misused('--generate makes countdown puzzles only')
  return {
    count: wholeNumber('generate', values.generate, 1, 10_000_000),
    sizes: values.numbers.split(',').map((size) => wholeNumber('numbers', size, 2, 6)),
    largest: wholeNumber('largest', values.largest, 1, 1_000_000),
    highest: wholeNumber('highest', values.highest, 1, 1_000_000_000),
    seed,
  }
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
    const source = await openRows(file, io.stdin)
    reading.fraction = () => {
      const part = source.fraction()
      return part === null ? null : (at + part) / files.length
    }
    let row = 0
    for await (const { value } of eachRow(source)) yield { value, file, row: ++row }
  }
}

/** What `prepare` did, for people. */
export function preparedText(prepared: Prepared, folder: string): string {
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
    lines.push('', `${withoutGold} rows have no right answer with them: only their ground truth was tried`)
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
