import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import type { Generation, Json, Verdict } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import type { Term } from '../../src/core/sample/sample.ts'
import { combine } from '../../src/scoring/engine/outcome.ts'
import { arithmetics } from '../../src/scoring/plan/fold.ts'
import type { PlanStep } from '../../src/scoring/plan/plan.ts'
import { riderAnswers } from './rider.ts'
import type { Answer } from './vector.ts'

/** One reward model: its scores by row, and how they join the rule. */
interface Joined {
  readonly op: string
  readonly weight: number
  readonly scores: readonly number[]
}

const { scoreOf, rounded } = arithmetics.published
const gated = { name: '', weight: 1, status: 'off', why: 'gate' } as const
const scored = (name: string, weight: number, value: number): Term => ({
  name,
  weight,
  status: 'scored',
  score: { value },
  draws: 1,
  spread: 0,
  contribution: null,
})

/** The gate of the original is the rule's score being exactly 1 in single precision; an unknown operation does nothing. */
function final(rule: readonly number[], joined: readonly Joined[]): (number | null)[] {
  const known = joined.filter(({ op }) => op === 'add' || op === 'mul')
  const steps = ['add', ...known.map(({ op }) => op)].map((op) => ({ op }) as PlanStep)
  return rule.map((value, i) => {
    const open = rounded(value) === 1
    const terms = known.map(({ weight, scores }, j) =>
      open ? scored(`rm_${j}`, weight, scores[i] ?? 0) : { ...gated, weight },
    )
    const combined = combine({ steps, gate: null, formula: null, arithmetic: 'published' }, [
      scored('rule', 1, value),
      ...terms,
    ])
    return combined.valid ? combined.reward : null
  })
}

/** Rows whose rule score is 0 are not judged; the others take the judge's scores in their order. */
function filled(rule: readonly number[], scores: readonly number[]): (number | null)[] {
  const waiting = scores.values()
  return rule.map((value) => {
    if (value === 0) return scoreOf(gated)
    const next = waiting.next()
    if (next.done) throw new RangeError('too few scores')
    return scoreOf(scored('rm', 1, next.value))
  })
}

const judges: Readonly<Record<string, (answer: Generation) => Verdict>> = {
  rider_reward: (answer) => riderJudge.rm_postprocess?.(answer, row(riderJudge, published)) ?? null,
  consistency_reward: (answer) =>
    consistencyJudge.rm_postprocess?.(answer, row(consistencyJudge, published)) ?? null,
  test_reward: (answer) => yesNoJudge.rm_postprocess?.(answer, row(yesNoJudge, published)) ?? null,
}
const published = { options: { mode: 'published' } }

interface Pipeline {
  readonly responses: readonly Json[]
  readonly ground_truths: readonly Json[]
  readonly rms: readonly {
    reward_function: string
    weight: number
    combine: string
    outputs: readonly string[]
  }[]
  readonly use_bge?: boolean
  readonly bge_weight?: number
  readonly similarities?: readonly Json[]
}

function pipeline(input: Pipeline): unknown {
  const { responses, ground_truths, rms, use_bge = false, bge_weight = 0.5, similarities = [] } = input
  const each = (name: string): number[] =>
    responses.map((solution_str, i) => {
      const one = { solution_str, ground_truth: ground_truths[i], similarity: similarities[i] }
      return Number(riderAnswers[name]?.({ id: '', input: one }, 'published'))
    })
  const rule = each('rider_rule')
  const rm = rms.map(({ reward_function, outputs }) => {
    const judged = outputs.filter((_, i) => rule[i] !== 0)
    const verdicts = judged.map(
      (text) => judges[reward_function]?.({ text, finishReason: 'stop' }) ?? Number.NaN,
    )
    return filled(rule, verdicts.map(Number)).map(Number)
  })
  const bge = use_bge ? each('rider_bge') : null
  const similar = bge ? [{ op: 'add', weight: bge_weight, scores: bge }] : []
  const models = rms.map((model, i) => ({ op: model.combine, weight: model.weight, scores: rm[i] ?? [] }))
  return { rule, rm, bge, final: final(rule, [...similar, ...models]) }
}

export const combineAnswers: Readonly<Record<string, Answer>> = {
  combine: ({ input }) => {
    const { rule, rm, weights, funcs, use_bge, bge_weight, bge } = input as {
      rule: number[]
      rm: number[][]
      weights: number[]
      funcs: string[]
      use_bge?: boolean
      bge_weight?: number
      bge?: number[]
    }
    const similar = use_bge ? [{ op: 'add', weight: bge_weight ?? 0.5, scores: bge ?? [] }] : []
    const models = rm.map((scores, i) => ({ op: funcs[i] ?? '', weight: weights[i] ?? 0, scores }))
    return final(rule, [...similar, ...models])
  },
  fill_scores: ({ input }) => filled(input.rule_sums as number[], input.scores as number[]),
  pipeline: ({ input }) => pipeline(input as unknown as Pipeline),
}
