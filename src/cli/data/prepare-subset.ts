import { parquetColumns } from '../../workbench/dataset/parquet.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { subset } from '../../workbench/prepare/subset.ts'
import { flag, misused, parsed, seedNumber, text, textOr, wholeNumber } from '../arguments.ts'
import type { Command } from '../command.ts'
import { textTable } from '../output.ts'

const usage = 'reward-gateway prepare subset FILE --output FILE [--size 100] [--seed 42] [--stratified]'

/** `prepare subset`: a validation subset of a file. */
export const command: Command = {
  summary: 'draws a validation subset',
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(
      argv,
      {
        output: text,
        size: textOr('100'),
        seed: textOr('42'),
        stratified: flag,
      },
      'files',
    )
    const [file] = positionals
    const { output } = values
    if (!file || file === '-' || positionals.length > 1 || !output || output === file)
      throw misused('one FILE and another --output are needed.', usage)
    const counts = await subset({
      open: () => openRows(file, io.stdin),
      output,
      ...(file.endsWith('.parquet') &&
        output.endsWith('.parquet') && { columns: await parquetColumns(file) }),
      size: wholeNumber('size', values.size, 1),
      seed: seedNumber(values.seed),
      stratified: values.stratified,
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
}
