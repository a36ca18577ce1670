import { type Difference, differences } from '../../workbench/analysis/differences.ts'
import { figureColumn, numberText, shareText } from '../../workbench/report/tables.ts'
import { defineCommand } from '../command.ts'
import { functionFolders } from '../gateway.ts'
import { file, misused, oneOf } from '../options.ts'
import { textTable } from '../output.ts'
import { withScored } from './score-configs.ts'

/** Exit code 0, even if rewards differ; 1 if it was stopped by a signal. */
export const command = defineCommand({
  name: 'diff',
  summary: 'compares scored files, or rewards on the same file',
  synopsis: ['A B...', 'A.yaml B.yaml... --input FILE'],
  about: `Compares A with each of the others on the same rows: rewards that changed, the order of answers within groups, groups whose
best answer changes, and the rows that moved most. A, B, ... are scored files (results of 'score --keep facts'), or with
--input rm-configs (.yaml) that first score that file. The rows that moved most have the beginning of their response where a
file has it ('score --keep all').`,
  example: 'configs/old.yaml configs/new.yaml --input rollouts.jsonl',
  options: {
    input: file('FILE', 'the rows that configs score'),
    'reward-functions': functionFolders,
    format: oneOf(['text', 'json'], 'the form of the comparison', { or: 'text' }),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const { format } = values
    if (positionals.length < 2) throw misused('two files are needed', 'diff')
    const { input, 'reward-functions': functionFolders } = values
    return withScored(
      positionals,
      { input, functionFolders, command: 'diff', keep: 'all' },
      io,
      async (files) => {
        if (io.signal.aborted) return 1
        const found = await differences(files.map(({ path }) => path))
        const named = found.map((difference, at) => ({
          a: positionals[0],
          b: positionals[at + 1],
          ...difference,
        }))
        io.stdout.write(
          format === 'json' ? `${JSON.stringify(named, null, 2)}\n` : textOf(positionals, found),
        )
        return 0
      },
    )
  },
})

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
  const hasTexts = found.some(({ moved }) => moved.some(({ response }) => response !== null))
  const moved = found.flatMap(({ moved }, at) =>
    moved.map(({ id, a, b, response }) => [
      others[at] ?? '',
      id,
      ...[a, b, b - a].map((value) => numberText(value)),
      ...(hasTexts ? [response ?? '-'] : []),
    ]),
  )
  const movers = textTable(
    [
      { title: 'moved most' },
      { title: 'row' },
      ...['A', 'B', 'B - A'].map(figureColumn),
      ...(hasTexts ? [{ title: 'response' }] : []),
    ],
    moved,
  )
  return `${table}\n${moved.length > 0 ? `\n${movers}\n` : ''}`
}
