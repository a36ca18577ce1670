import { parquetColumns } from '../../workbench/dataset/parquet.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { subset } from '../../workbench/prepare/subset.ts'
import { defineCommand } from '../command.ts'
import { localData } from '../local-data.ts'
import { file, flag, misused, seed, whole } from '../options.ts'
import { textTable } from '../output.ts'

/** Exit code 1 if it was stopped by a signal. */
export const command = defineCommand({
  name: 'prepare subset',
  summary: 'draws a validation subset of a file',
  synopsis: ['FILE --output FILE'],
  about: 'Draws rows of a file at random and shows the share of each data source before and after.',
  example: 'data/train.parquet --output data/validation.parquet --size 200 --stratified',
  options: {
    output: file('FILE', 'where the rows are written (.jsonl, .gz, .parquet)'),
    size: whole('N', 'how many rows to draw', { low: 1, or: 100 }),
    seed: seed('makes the draw repeatable', { or: 42 }),
    stratified: flag('keeps the shares of the data sources'),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const [named] = positionals
    const { output, size, seed, stratified } = values
    if (!named || named === '-' || positionals.length > 1 || !output || output === named)
      throw misused('one FILE and another --output are needed', 'prepare subset')
    const input = await localData(named, io)
    const counts = await subset({
      open: () => openRows(input, io.stdin),
      output,
      ...(input.endsWith('.parquet') &&
        output.endsWith('.parquet') && { columns: await parquetColumns(input) }),
      size,
      seed,
      stratified,
      signal: io.signal,
    }).catch((error: unknown) => {
      if (io.signal.aborted) return null
      throw error
    })
    if (counts === null) {
      io.stderr.write('stopped; nothing was written\n')
      return 1
    }
    const share = (part: number, whole: number): string =>
      `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`
    const all = counts.reduce((sum, { rows }) => sum + rows, 0)
    const chosen = counts.reduce((sum, count) => sum + count.chosen, 0)
    const table = textTable(
      [
        { title: 'data source' },
        { title: 'rows', right: true },
        { title: 'share', right: true },
        { title: 'chosen', right: true },
        { title: 'share', right: true },
      ],
      counts.map((count) => [
        count.source,
        String(count.rows),
        share(count.rows, all),
        String(count.chosen),
        share(count.chosen, chosen),
      ]),
    )
    io.stdout.write(`${table}\n\n${chosen} of ${all} rows in ${output}\n`)
    return 0
  },
})
