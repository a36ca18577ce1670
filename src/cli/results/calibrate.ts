import { GatewayError } from '../../core/errors.ts'
import { type Calibrated, type Calibration, calibrate } from '../../workbench/analysis/calibration.ts'
import { eachRow, valueAt } from '../../workbench/dataset/row.ts'
import { openRows } from '../../workbench/dataset/rows.ts'
import { figureColumn, numberText } from '../../workbench/report/tables.ts'
import { defineCommand, type Io } from '../command.ts'
import { file, misused, number, oneOf, text } from '../options.ts'
import { textTable } from '../output.ts'

/** Exit code 0, even if the judge and the people do not agree. */
export const command = defineCommand({
  name: 'calibrate',
  summary: "compares a judge's scores with people's labels",
  synopsis: ['SCORED --labels FILE --label FIELD'],
  about: `Compares scores with people's labels: accuracy, precision, recall, F1, Cohen's kappa, the confusion matrix, and every
threshold. SCORED is a result of 'score'.`,
  example: 'scored.jsonl --labels labels.jsonl --label extra_info.label --term quality',
  options: {
    labels: file('FILE', 'rows with the same ids and a label (true/false, 1/0)'),
    label: text('FIELD', 'the field with the label, e.g. extra_info.label'),
    term: text('NAME', "compares a step's score instead of the reward"),
    threshold: number('N', 'a score of N or more counts as yes', { or: 0.5 }),
    format: oneOf(['text', 'json'], 'the form of the figures', { or: 'text' }),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const { labels, label, term, threshold, format } = values
    const [scored] = positionals
    if (!scored || !labels || !label) throw misused('SCORED, --labels and --label are needed', 'calibrate')
    const labelled = await labelsOf(labels, label, io)
    const rows: { score: number | null; label: boolean }[] = []
    for await (const { value } of eachRow(await openRows(scored, io.stdin))) {
      const known = labelled.get(String(valueAt(value, 'id')))
      const score = valueAt(value, term === undefined ? 'reward' : `terms.${term}.score`)
      if (known !== undefined) rows.push({ score: typeof score === 'number' ? score : null, label: known })
    }
    if (rows.every(({ score }) => score === null)) {
      throw new GatewayError(
        'RG_INPUT_INVALID',
        `${scored}: no row has both a score and an id from ${labels}`,
      )
    }
    const found = calibrate(rows, threshold)
    io.stdout.write(format === 'json' ? `${JSON.stringify(found, null, 2)}\n` : textOf(found))
    return 0
  },
})

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
    `at ${chosen.threshold}: ${truePositive} true positives, ${falsePositive} false positives, ${trueNegative} true negatives, ${falseNegative} false negatives`,
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
