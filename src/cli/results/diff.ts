import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openObservedGateway } from '../../serving/observed-gateway.ts'
import { type Difference, differences } from '../../workbench/analysis/differences.ts'
import { figureColumn, numberText, shareText } from '../../workbench/report/tables.ts'
import { misused, oneOf, parsed, text, textOr, texts } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { rewardOf } from '../gateway.ts'
import { textTable } from '../output.ts'
import { scoreFile } from '../rewards/score-file.ts'

const usage = `reward-gateway diff A B [C...] [--input FILE] [--reward-functions DIR] [--format text|json]

Compares A with each other one on the same rows: rewards that changed, the order of answers within groups, groups whose
best answer changes, and the rows that moved most. A, B, ... are scored files (results of 'score --keep facts'), or with
--input rm-configs (.yaml) that are run on that file first.`

/** Exit code 0, however much differs; 1 where it was asked to end. */
export const command: Command = {
  summary: 'compares scored files, or rewards on the same file',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(
      argv,
      {
        input: text,
        format: textOr('text'),
        'reward-functions': texts,
      },
      'files',
    )
    const format = oneOf('format', values.format, ['text', 'json'])
    if (positionals.length < 2) throw misused('two files are needed.', usage)
    const folder = await mkdtemp(join(tmpdir(), 'reward-gateway-'))
    try {
      const files: string[] = []
      for (const [at, one] of positionals.entries()) {
        const isConfig = /\.(?:ya?ml|json)$/.test(one)
        if (isConfig && values.input === undefined) {
          throw misused(`${one} is a config: --input names the rows to score`)
        }
        const scored = join(folder, `${at}.jsonl`)
        if (isConfig) await score(one, values.input ?? '', scored, values['reward-functions'], io)
        files.push(isConfig ? scored : one)
      }
      if (io.signal.aborted) return 1
      const found = await differences(files)
      const named = found.map((difference, at) => ({
        a: positionals[0],
        b: positionals[at + 1],
        ...difference,
      }))
      io.stdout.write(format === 'json' ? `${JSON.stringify(named, null, 2)}\n` : textOf(positionals, found))
      return 0
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

async function score(
  config: string,
  input: string,
  output: string,
  functionFolders: readonly string[],
  io: Io,
): Promise<void> {
  const gateway = await openObservedGateway({ configs: [config], functionFolders, env: io.env })
  try {
    const reward = rewardOf(gateway, undefined)
    const job = {
      gateway,
      reward,
      input,
      output,
      batch: 512,
      keep: 'facts',
      resume: false,
      failedOnly: false,
    } as const
    await scoreFile({ ...job, label: config, allowInvalid: 1, calls: () => 0 }, io)
  } finally {
    await gateway.close(0)
  }
}

function textOf([first = '', ...others]: readonly string[], found: readonly Difference[]): string {
  const titles = [
    'rows',
    'changed',
    'gained',
    'lost',
    'mean change',
    'groups',
    'spearman',
    'kendall',
    'best changes',
  ]
  const table = textTable(
    [{ title: `against ${first}` }, ...titles.map(figureColumn)],
    found.map((one, at) => [
      others[at] ?? '',
      ...[one.rows, one.changed, one.gained, one.lost].map(String),
      numberText(one.meanChange),
      String(one.groups),
      numberText(one.spearman, 3),
      numberText(one.kendall, 3),
      shareText(one.bestChanged),
    ]),
  )
  const moved = found.flatMap(({ moved }, at) =>
    moved.map(({ id, a, b }) => [others[at] ?? '', id, numberText(a), numberText(b), numberText(b - a)]),
  )
  const movers = textTable(
    [{ title: 'moved most' }, { title: 'row' }, ...['A', 'B', 'B - A'].map(figureColumn)],
    moved,
  )
  return `${table}\n${moved.length > 0 ? `\n${movers}\n` : ''}`
}
