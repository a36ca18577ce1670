import countdown from '../../reward-functions/countdown.ts'
import gsm8k from '../../reward-functions/gsm8k.ts'
import { binaryEntropy, extent, mean } from '../../src/core/statistics/summary.ts'
import {
  evaluatePython,
  lastCodePoints,
  lastHashNumber,
  lastNumeral,
  trimSpace,
} from '../../src/grading/index.ts'
import { fixed, percent } from '../../src/workbench/analysis/decimals.ts'
import { type GroupSignal, groupSignal, highValueRows } from '../../src/workbench/analysis/signal.ts'
import { reward } from './reward.ts'
import type { Adapter } from './vector.ts'

/** The study's own data preparation: the text after the last `####`. */
const groundTruth = (text: string): string =>
  text.includes('####') ? trimSpace(text.split('####').at(-1) ?? '') : ''

const evaluated = (text: string, truth: string): number => {
  const answer = lastHashNumber(text)
  return Number(answer !== null && answer === groundTruth(truth))
}

/** A row under the columns' names of today or of before; throws RangeError without variance or entropy. */
function signalOfRow(row: Readonly<Record<string, number>>): GroupSignal {
  const variance = row.reward_var ?? row.group_reward_var
  const entropy = row.entropy ?? row.group_entropy
  if (variance === undefined || entropy === undefined) throw new RangeError('no variance or entropy')
  return { mean: row.mean_reward ?? row.group_mean_reward ?? Number.NaN, variance, entropy }
}

export const verlStudy: Adapter = {
  answers: {
    countdown: ({ input }, mode) => reward(countdown, input, { mode }),
    evaluate_expression: ({ input }) => evaluatePython(String(input.expr)),
    gsm8k: ({ input }, mode) => reward(gsm8k, input, { mode }, { dataSource: String(input.data_source) }),
    gsm8k_extract({ input }) {
      if (input.method === 'strict') return lastHashNumber(String(input.solution_str))
      if (input.method === 'flexible') return lastNumeral(lastCodePoints(String(input.solution_str), 300))
      throw new RangeError(`no method ${input.method}`)
    },
    extract_ground_truth: ({ input }) => groundTruth(String(input.text)),
    eval_score: ({ input }) => evaluated(String(input.generated_text), String(input.ground_truth)),
    group_stats: ({ input }) => groupSignal(input.scores as number[]),
    analyse({ input }) {
      const groups = input.groups as readonly { readonly answer: string; readonly completions: string[] }[]
      const scores = groups.map(({ answer, completions }) => completions.map((one) => evaluated(one, answer)))
      const signals = scores.map(groupSignal)
      const rows = signals.map((signal, at) => ({
        mean_reward: signal.mean,
        reward_var: signal.variance,
        entropy: signal.entropy,
        success_count: scores[at]?.reduce((sum, score) => sum + score, 0),
        total_count: scores[0]?.length,
      }))
      return { rows, ...signalOver(signals) }
    },
    reward_eval({ input }) {
      const items = input.items as readonly { readonly answer: string; readonly completion: string }[]
      const correct = items.map(({ completion, answer }) => evaluated(completion, answer) === 1)
      return { correct, accuracy: percent(mean(correct.map(Number))) }
    },
    high_value: ({ input: { rows, var_min, entropy_min, limit } }) =>
      highValueRows((rows as readonly Readonly<Record<string, number>>[]).map(signalOfRow), {
        varianceMin: Number(var_min ?? 0.05),
        entropyMin: Number(entropy_min ?? 0.2),
        limit: Number(limit ?? 10),
      }),
    countdown_report: ({ input }, mode) =>
      solvedReport(
        (input.groups as readonly { readonly ground_truth: unknown; readonly completions: string[] }[]).map(
          ({ ground_truth, completions }) =>
            completions.map((solution_str) =>
              Number(reward(countdown, { solution_str, ground_truth }, { mode })),
            ),
        ),
      ),
  },
}

/** Means over groups, as the study prints them. */
function signalOver(groups: readonly GroupSignal[]) {
  return {
    avg_accuracy: percent(mean(groups.map((group) => group.mean))),
    avg_variance: fixed(mean(groups.map((group) => group.variance)), 4),
    avg_entropy: fixed(mean(groups.map((group) => group.entropy)), 4),
  }
}

/**
 * The study's report on Countdown: rewards as they are, means outside of 0 to 1 count as its ends. A group is
 * solved if one of its answers earns at least 1.
 */
function solvedReport(groups: readonly (readonly number[])[]) {
  const signals = groups.map((scores) => {
    const signal = groupSignal(scores)
    return { ...signal, entropy: binaryEntropy(Math.min(1, Math.max(0, signal.mean))) }
  })
  const best = groups.map((scores) => extent(scores)[1])
  const { avg_accuracy, ...rest } = signalOver(signals)
  const failed = best.filter((score) => score === 0).length
  return {
    mean_accuracy: avg_accuracy,
    pass_at_n: percent(mean(best.map((score) => Number(score >= 1)))),
    ...rest,
    failed_groups: failed,
    success_groups: groups.length - failed,
  }
}
