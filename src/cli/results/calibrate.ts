import { GatewayError } from '../../core/errors.ts'
import { type Calibrated, type Calibration, calibrate } from '../../workbench/analysis/calibration.ts'
import { eachRow, valueAt } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { figureColumn, numberText } from '../../workbench/report/tables.ts'
import { finiteNumber, misused, oneOf, parsed, text, textOr } from '../arguments.ts'
import type { Command, Io } from '../command.ts'
import { textTable } from '../output.ts'

const usage = `reward-gateway calibrate SCORED --labels FILE --label FIELD [--term NAME] [--threshold N] [--format text|json]

Compares scores with people's labels: accuracy, precision, recall, F1, Cohen's kappa, confusion, and every threshold.
SCORED is a result of 'score'; FILE holds the same ids with a label (true/false, 1/0) at FIELD, e.g. extra_info.label.
--term NAME takes a step's score in place of the reward; --threshold N: a score of N or more says yes (default 0.5).`

/** Exit code 0, however little judge and people agree. */
export const command: Command = {
  summary: "compares a judge's scores with people's labels",
  usage,
  async run(argv, io) {
    const { values, positionals } = parsed(
      argv,
      {
        labels: text,
        label: text,
        term: text,
        threshold: textOr('0.5'),
        format: textOr('text'),
      },
      'files',
    )
    const format = oneOf('format', values.format, ['text', 'json'])
    const threshold = finiteNumber('threshold', values.threshold)
    const { labels, label, term } = values
    const [scored] = positionals
    if (!scored || !labels || !label) throw misused('SCORED, --labels and --label are needed.', usage)
    const labelled = await labelsOf(labels, label, io)
    const rows: { score: number | null; label: boolean }[] = []
    for await (const { value } of eachRow(await openRows(scored, io.stdin))) {
      const known = labelled.get(String(valueAt(value, 'id')))
      const score = valueAt(value, term === undefined ? 'reward' : `terms.${term}.score`)
      if (known !== undefined) rows.push({ score: typeof score === 'number' ? score : null, label: known })
    }
    if (rows.every(({ score }) => score === null)) {
      throw new GatewayError('RG_INPUT_INVALID', `${scored}: no row has a score and an id of ${labels}`)
    }
    const found = calibrate(rows, threshold)
    io.stdout.write(format === 'json' ? `${JSON.stringify(found, null, 2)}\n` : textOf(found))
    return 0
  },
}

async function labelsOf(path: string, field: string, io: Io): Promise<ReadonlyMap<string, boolean>> {
  const labels = new Map<string, boolean>()
  let index = 0
  for await (const { value } of eachRow(await openRows(path, io.stdin))) {
    const id = String(valueAt(value, 'id') ?? index)
    const label = valueAt(value, field)
    index++
    if (label === true || label === 1) labels.set(id, true)
    else if (label === false || label === 0) labels.set(id, false)
  }
  if (labels.size > 0) return labels
  throw new GatewayError('RG_INPUT_INVALID', `${path}: no row has true, false, 1 or 0 at '${field}'`)
}

function textOf({ rows, unscored, at: chosen, sweep, best }: Calibration): string {
  const { truePositive, falsePositive, trueNegative, falseNegative } = chosen.confusion
  const figures = ({ threshold, accuracy, precision, recall, f1, kappa }: Calibrated) =>
    [threshold, accuracy, precision, recall, f1, kappa].map((value) => numberText(value))
  const names = ['threshold', 'accuracy', 'precision', 'recall', 'F1', 'kappa']
  return [
    `${rows} labelled rows, ${unscored} of them without a score`,
    `at ${chosen.threshold}: ${truePositive} rightly yes, ${falsePositive} wrongly yes, ${trueNegative} rightly no, ${falseNegative} wrongly no`,
    textTable(
      [{ title: '' }, ...names.map(figureColumn)],
      [
        ['asked for', ...figures(chosen)],
        ['best kappa', ...figures(best)],
        ...sweep.map((one) => ['', ...figures(one)]),
      ],
    ),
    '',
  ].join('\n')
}
