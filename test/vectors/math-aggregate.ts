import { majorityAnswer, passAtK, passesAmongFirst } from '../../src/core/statistics/accuracy.ts'
import { mean } from '../../src/core/statistics/summary.ts'
import { publishedEqual, stripAnswer } from '../../src/grading/benchmark/index.ts'
import type { Answer } from './vector.ts'

interface Sampled {
  readonly idx: number
  readonly gt: string
  readonly pred: readonly string[]
  readonly type?: string
}

const percent = (values: readonly boolean[]): number => 100 * mean(values.map(Number))

/** One decimal, exact halves to even, as numpy rounds. */
function rounded(value: number): number {
  const tenths = value * 10
  const floor = Math.floor(tenths)
  const isHalf = Math.abs(tenths - floor - 0.5) < 1e-9
  return (isHalf ? floor + (floor % 2) : Math.round(tenths)) / 10
}

/** The benchmark harness's figures over sampled answers. */
export const mathAggregate: Answer = ({ samples, expected }) => {
  const given = samples as readonly Sampled[]
  const byIndex = [...new Map(given.map((sample) => [sample.idx, sample])).values()].sort(
    (a, b) => a.idx - b.idx,
  )
  const scores = byIndex.map(({ gt, pred }) => pred.map((one) => publishedEqual(one, stripAnswer(gt, false))))
  const types = [...new Set(byIndex.flatMap(({ type }) => type ?? []))].sort()
  const ofType = (type: string) =>
    scores.filter((_, at) => byIndex[at]?.type === type).map((row) => row.at(-1) ?? false)
  const wanted = expected as { maj: { k: number }; pass_at_k_unbiased: object; pass_at_k_first: object }
  const { k } = wanted.maj
  const overKs = (keys: object, of: (row: readonly boolean[], k: number) => number) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, mean(scores.map((row) => of(row, Number(key))))]))
  return {
    summary: {
      num_samples: given.length,
      num_scores: scores.flat().length,
      timeout_samples: 0,
      empty_samples: byIndex.filter(({ pred }) => pred.at(-1) === '').length,
      acc: rounded(percent(scores.map((row) => row[0] ?? false))),
      ...(types.length > 0 && {
        type_acc: Object.fromEntries(types.map((type) => [type, rounded(percent(ofType(type)))])),
      }),
    },
    scores,
    maj: { k, acc: percent(byIndex.map(({ pred }, at) => scores[at]?.[majorityAnswer(pred, k)] ?? false)) },
    pass_at_k_unbiased: overKs(wanted.pass_at_k_unbiased, (row, at) =>
      passAtK(row.length, row.filter(Boolean).length, at),
    ),
    pass_at_k_first: overKs(wanted.pass_at_k_first, (row, at) => Number(passesAmongFirst(row, at))),
  }
}
