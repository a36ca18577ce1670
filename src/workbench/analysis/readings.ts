import type { Analysis } from './analysis.ts'
import { fixed, percent } from './decimals.ts'
import type { SourceFigures } from './source-figures.ts'
import type { TrainingRun } from './training-run.ts'

/** A figure outside the thresholds of docs/figures.md, with advice. */
export interface Warning {
  /** The file, with the data source or the terms if there are several. */
  readonly where: string
  readonly figure: string
  readonly value: string
  readonly advice: string
}

/** The figures that need attention, in file order. Empty if every figure is within its threshold. */
export const warningsOf = (analysis: Analysis | null, runs: readonly TrainingRun[]): readonly Warning[] => [
  ...(analysis ? analysisReadings(analysis) : []),
  ...runs.flatMap(runReadings),
]

function analysisReadings({
  files,
  sources,
  statuses,
  rollouts,
  terms,
  agreements,
}: Analysis): readonly Warning[] {
  const place = (file: number, of: string) => [files[file] ?? '', of].filter(Boolean).join(': ')
  return [
    ...sources.flatMap((figures) => sourceReadings(figures, place(figures.file, figures.source))),
    ...statuses.flatMap(({ file, status, rows, share }) =>
      status === 'truncated' && share !== null && share > 0.1 && rows / share >= leastRows
        ? [
            {
              where: place(file, ''),
              figure: 'truncated',
              value: percent(share),
              advice:
                'the policy runs into its token limit: raise the limit, or leave such rows out with on_status',
            },
          ]
        : [],
    ),
    ...rollouts.flatMap(({ file, rows, malformed }) =>
      malformed !== null && malformed > 0.05 && rows >= leastRows
        ? [
            {
              where: place(file, ''),
              figure: 'malformed calls',
              value: percent(malformed),
              advice:
                "the policy writes calls that cannot be read: check the tools' format in its chat template",
            },
          ]
        : [],
    ),
    ...terms.flatMap(({ file, name, constant }) =>
      constant !== null && constant.scores >= leastScores
        ? [
            {
              where: place(file, name),
              figure: 'sd of a term',
              value: `0: each of ${constant.scores} scores is ${fixed(constant.score, 4)}`,
              advice:
                'a constant score cannot rank answers: if this is a judge, read its questions and replies',
            },
          ]
        : [],
    ),
    ...agreements.flatMap(({ file, terms, rows, correlation }) =>
      correlation !== null && rows >= leastRows && correlation < 0.2
        ? [
            {
              where: place(file, terms.join(', ')),
              figure: 'r of two terms',
              value: fixed(correlation, 2),
              advice: 'they disagree: read the rows where they differ',
            },
          ]
        : [],
    ),
  ]
}

/** Below this many rows or groups, a figure is not significant. */
const leastRows = 20
/** This many equal scores are no coincidence. */
const leastScores = 100

function sourceReadings(figures: SourceFigures, where: string): readonly Warning[] {
  const { rows, valid, accuracy, lengthCorrelation, groups } = figures
  const found: Warning[] = []
  const say = (figure: string, value: string, advice: string) => found.push({ where, figure, value, advice })
  const invalid = 1 - valid / rows
  if (invalid > 0.01) {
    say(
      'valid',
      `${percent(invalid)} invalid`,
      'look at the failures by kind; score --failed-only scores these rows again',
    )
  }
  if (accuracy !== null && valid >= leastRows) {
    if (accuracy < 0.05)
      say('accuracy', percent(accuracy), 'too hard for this policy: start with a supervised warm-up')
    if (accuracy > 0.95) say('accuracy', percent(accuracy), 'too easy for this policy: use harder data')
  }
  if (lengthCorrelation !== null && valid >= leastRows && Math.abs(lengthCorrelation) > 0.5) {
    say(
      'r(length)',
      fixed(lengthCorrelation, 2),
      'the reward depends on length: look at the longest and shortest answers',
    )
  }
  if (groups && groups.count >= leastRows) {
    const { variance, entropy, saturated } = groups
    if (variance < 0.01)
      say(
        'group variance',
        fixed(variance, 4),
        'answers to the same prompt earn the same, so no group teaches anything',
      )
    if (entropy < 0.2)
      say('entropy', fixed(entropy, 4), 'raise the sampling temperature and check the KL term')
    if (saturated > 0.5)
      say(
        'saturated',
        percent(saturated),
        'these groups cost rollouts but teach nothing: use --select high-value',
      )
  }
  return found
}

function runReadings({ file, summary, metrics }: TrainingRun): readonly Warning[] {
  const { correlation, grad_norm, entropy, test_score } = summary
  const found: Warning[] = []
  const say = (figure: string, value: string, advice: string) =>
    found.push({ where: file, figure, value, advice })
  if (correlation?.reading === 'weak-negative') {
    say(
      'correlation',
      correlation.value ?? '',
      'the reward rises but accuracy does not: read answers with a high reward',
    )
  }
  if (correlation?.reading === 'strong-negative') {
    say('correlation', correlation.value ?? '', 'reward hacking: stop the run and audit the reward')
  }
  if (grad_norm?.warn_clip)
    say('grad_norm', `up to ${grad_norm.max}`, 'unstable: lower the learning rate or clip gradients')
  if (entropy?.warn_collapse) {
    say(
      'entropy',
      `${entropy.change_percent} %`,
      'the policy narrows: raise the KL term, the entropy term or the temperature',
    )
  }
  const last = metrics.entropy_loss?.at(-1)?.[1]
  if (last !== undefined && last < 0.01)
    say('entropy', fixed(last, 4), 'the policy has collapsed: go back to an earlier checkpoint')
  if (test_score && test_score.max_step !== metrics.test_score?.at(-1)?.[0]) {
    const drop = Number(test_score.max) - Number(test_score.last)
    if (drop > 0.02) {
      say(
        'test_score',
        `${test_score.last} after ${test_score.max}`,
        `the best step was ${test_score.max_step}`,
      )
    }
  }
  return found
}
