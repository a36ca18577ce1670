import { type Calibrated, type Calibration, calibrate } from '../../workbench/analysis/calibration.ts'
import {
  compareJudges,
  type JudgeComparison,
  type LabelledRow,
} from '../../workbench/analysis/judge-comparison.ts'
import { judgeReport, rowsNote } from '../../workbench/report/judge-tables.ts'
import { figureColumn, numberText, type ReportTable } from '../../workbench/report/tables.ts'
import { renderReport } from '../../workbench/report/write.ts'
import { defineCommand } from '../command.ts'
import { functionFolders } from '../gateway.ts'
import { file, misused, number, oneOf, repeated, text } from '../options.ts'
import { deliver, tablesText, textTable } from '../output.ts'
import { judgedRows, judgeNames, pricedJudges, pricesOption, readLabels } from './judged-rows.ts'
import { withScored } from './score-configs.ts'

const formats = ['text', 'json', 'md', 'html', 'svg', 'png'] as const

/** Exit code 0, even if the judges and the people do not agree; 1 if it was stopped by a signal. */
export const command = defineCommand({
  name: 'calibrate',
  summary: "compares judges' scores with people's labels",
  synopsis: ['SCORED... --labels FILE --label FIELD', 'JUDGE.yaml... --labels FILE --label FIELD'],
  about: `Compares scores with people's labels: accuracy, precision, recall, F1, Cohen's kappa, the confusion matrix, and every
threshold. SCORED is a result of 'score'; an rm-config (.yaml) first scores the rows of --labels. With several files, or
several --term, it compares the judges: their accuracy and tokens, how they agree, and whether a cascade pays: the cheaper
judge, and the other one where the first is less confident.`,
  example:
    'small.yaml large.yaml --labels labels.jsonl --label extra_info.label --prices 1,8 --output judges.html',
  options: {
    labels: file('FILE', 'rows with the same ids and a label (true/false, 1/0)'),
    label: text('FIELD', 'the field with the label, e.g. extra_info.label'),
    term: repeated(text('NAME', "compares a step's score instead of the reward")),
    threshold: number('N', 'a score of N or more counts as yes', { or: 0.5 }),
    confidence: text(
      'FIELD',
      "the field of a judge's confidence, 0 to 1, within the step with --term (default: details.confidence of the step, as decision-judge writes it, else the larger one of score and 1 - score)",
    ),
    prices: pricesOption,
    'reward-functions': functionFolders,
    format: oneOf(
      formats,
      'the form of the figures; the last four for several judges (default: by the ending of --output, or text)',
    ),
    output: file('FILE', 'the file for the figures; standard output by default'),
  },
  positionals: 'files',
  async run({ values, positionals }, io) {
    const { labels, label, term: terms, threshold, confidence, prices, output } = values
    if (positionals.length === 0 || !labels || !label)
      throw misused('SCORED, --labels and --label are needed', 'calibrate')
    const format = values.format ?? formats.find((one) => output?.endsWith(`.${one}`)) ?? 'text'
    // All mistakes are found before the judges of a config are paid.
    const names = judgeNames(positionals, terms)
    const judges = pricedJudges(names, prices, 'calibrate')
    const isOne = names.length === 1
    if (isOne && format !== 'text' && format !== 'json')
      throw misused(
        `--format ${format} compares several judges: name more files, or --term twice`,
        'calibrate',
      )
    const people = await readLabels(labels, label, io)
    const functionFolders = values['reward-functions']
    const scoring = { input: labels, functionFolders, command: 'calibrate', terms }
    return withScored(positionals, scoring, io, async (scored) => {
      if (io.signal.aborted) return 1
      const { rows } = await judgedRows(scored, { labels: people, terms, confidence }, io)
      const each = names.map((_name, at) => calibrate(rowsOf(rows, at), threshold))
      const content = isOne
        ? singleContent(format === 'json', each[0] as Calibration)
        : await comparisonContent(format, compareJudges(judges, rows, threshold), each)
      await deliver(content, output, io)
      return 0
    })
  },
})

const rowsOf = (rows: readonly LabelledRow[], judge: number) =>
  rows.map(({ label, said }) => ({ score: said[judge]?.score ?? null, label }))

const singleContent = (isJson: boolean, found: Calibration): string =>
  isJson ? `${JSON.stringify(found, null, 2)}\n` : textOf(found)

async function comparisonContent(
  format: (typeof formats)[number],
  comparison: JudgeComparison,
  each: readonly Calibration[],
): Promise<string | Uint8Array> {
  if (format === 'json') return `${JSON.stringify({ ...comparison, thresholds: each }, null, 2)}\n`
  const report = judgeReport(comparison)
  const tables = [...report.tables, bestTable(comparison, each)]
  return format === 'text'
    ? tablesText(tables, rowsNote(comparison))
    : renderReport({ ...report, tables }, format)
}

/** Each judge at the threshold that suits it best, on all of its own rows. */
const bestTable = ({ judges }: JudgeComparison, each: readonly Calibration[]): ReportTable => ({
  title: 'Each judge alone at its best threshold',
  columns: [{ title: 'best alone' }, ...figureNames.map(figureColumn)],
  rows: each.map(({ best }, at) => [judges[at]?.name ?? '', ...figuresOf(best)]),
})

const figureNames = ['threshold', 'accuracy', 'precision', 'recall', 'F1', 'kappa']
const figuresOf = ({ threshold, accuracy, precision, recall, f1, kappa }: Calibrated): string[] =>
  [threshold, accuracy, precision, recall, f1, kappa].map((value) => numberText(value))

function textOf({ rows, unscored, at: chosen, sweep, best }: Calibration): string {
  const { truePositive, falsePositive, trueNegative, falseNegative } = chosen.confusion
  return [
    `${rows} labelled rows, ${unscored} of them without a score`,
    `at ${chosen.threshold}: ${truePositive} true positives, ${falsePositive} false positives, ${trueNegative} true negatives, ${falseNegative} false negatives`,
    textTable(
      [{ title: '' }, ...figureNames.map(figureColumn)],
      [
        ['asked for', ...figuresOf(chosen)],
        ['best kappa', ...figuresOf(best)],
        ...sweep.map((one) => ['', ...figuresOf(one)]),
      ],
    ),
    '',
  ].join('\n')
}
