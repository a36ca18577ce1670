import groupRule from '../../reward-functions/group-length.ts'
import rule from '../../reward-functions/length.ts'
import overlong from '../../reward-functions/overlong-penalty.ts'
import repetition from '../../reward-functions/repetition-penalty.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, scored } from '../../src/contract/testing.ts'
import { repeatedShare } from '../../src/grading/words.ts'
import { type Adapter, raises, type Vector } from './vector.ts'

type Input = Vector['input']
type Options = { [name: string]: Json }

/** The row of an answer of so many tokens that is as right as the earlier step says. */
const rowOf = (
  length: unknown,
  right: unknown,
  options: Options,
  extraInfo: { [name: string]: Json } = {},
) => ({
  options,
  extraInfo: { response_length: length as Json, ...extraInfo },
  earlier: {
    right: { score: right === null ? null : { value: Number(right) }, texts: [] },
  },
})

const lengthTerm = (...parts: Parameters<typeof rowOf>): number | null =>
  scored(rule, rowOf(...parts))?.value ?? null

const list = (input: Input, name: string): readonly unknown[] => input[name] as readonly unknown[]

/** The pairs of a published cosine: `[short, long]` of right and of wrong answers, where the case has them. */
const pair = (short: unknown, long: unknown, fallback: readonly [number, number]): Json =>
  short === undefined && long === undefined
    ? [...fallback]
    : [(short as number) ?? fallback[0], (long as number) ?? fallback[1]]

function cosine(input: Input, clamp: boolean): readonly (number | null)[] {
  const options: Options = {
    kind: 'cosine',
    mode: 'published',
    max_length: (input.max_len ?? input.cosine_max_len) as number,
    right: pair(
      input.max_value_correct ?? input.cosine_min_len_value_correct,
      input.min_value_correct ?? input.cosine_max_len_value_correct,
      [1, 0.5],
    ),
    wrong: pair(
      input.min_value_wrong ?? input.cosine_min_len_value_wrong,
      input.max_value_wrong ?? input.cosine_max_len_value_wrong,
      [-1, -0.5],
    ),
    clamp,
  }
  const right = (input.correct ?? input.accuracy) as readonly unknown[]
  return list(input, 'lengths').map((length, at) => lengthTerm(length, right[at], options))
}

function overlongOf(
  formula: string,
  max: unknown,
  buffer: unknown,
  length: unknown,
  factor: unknown = 1,
): number {
  const options = {
    mode: 'published',
    formula,
    max_length: max as number,
    buffer: buffer as number,
    penalty_factor: factor as number,
  }
  return scored(overlong, { options, extraInfo: { response_length: length as number } })?.value ?? Number.NaN
}

/** Open-Instruct's verifiers of length. */
const goal = ({ input }: Vector, form: 'exact' | 'at_most') =>
  lengthTerm(
    input.length,
    true,
    {
      kind: 'target',
      mode: 'published',
      combine: 'none',
      form,
      alpha: 1 / Number(input.max_length_verifier_max_length),
    },
    { target_length: input.label as string },
  )

const penalty = (max_penalty: unknown): number =>
  Number(max_penalty) === 0 ? 0 : repetition.options.parse({ max_penalty }).max_penalty

export const lengthVectors: Adapter = {
  answers: {
    trl_cosine: ({ input }) => cosine(input, true),
    swift_cosine: ({ input }) => cosine(input, false),
    open_r1_cosine: ({ input }) => cosine(input, false),
    trl_soft_overlong: ({ input }) =>
      list(input, 'lengths').map((length) =>
        overlongOf('trl', input.max_completion_len, input.soft_punish_cache, length),
      ),
    swift_soft_overlong: ({ input }) =>
      list(input, 'lengths').map((length) =>
        overlongOf('ms-swift', input.soft_max_length, input.soft_cache_length, length),
      ),
    verl_overlong_buffer: ({ input }) => {
      const overlong_reward = overlongOf(
        'verl',
        input.max_resp_len,
        input.overlong_buffer_len,
        input.length,
        input.penalty_factor,
      )
      return { reward: Number(input.score) + overlong_reward, overlong_reward }
    },
    trl_repetition: ({ input }) =>
      list(input, 'completion_ids').map(
        (ids) =>
          repeatedShare((ids as readonly number[]).map(String), Number(input.ngram_size)) *
          penalty(input.max_penalty),
      ),
    swift_repetition: ({ input }) =>
      list(input, 'completions').map((text) => {
        const words = String(text).toLowerCase().split(/\s+/).filter(Boolean)
        return repeatedShare(words, Number(input.repetition_n_grams)) * penalty(input.repetition_max_penalty)
      }),
    kimi_length: ({ input }) => {
      const rows = list(input, 'lengths').map((length, at) =>
        row(groupRule, rowOf(length, list(input, 'correct')[at], { kind: 'kimi', mode: 'published' })),
      )
      return groupRule
        .score(rows)
        .map((verdict) => (typeof verdict === 'object' && verdict !== null ? verdict.value : verdict))
    },
    l1_lcpo: ({ input }) => {
      // Without a length term the published reward is the correctness.
      if (!input.linear_reward && !input.multiplier_reward && !input.sigmoid_reward)
        return Number(input.correct)
      return lengthTerm(
        input.used_tokens,
        input.correct,
        {
          kind: 'target',
          mode: 'published',
          alpha: input.alpha as number,
          combine: input.multiplier_reward ? 'product' : 'sum',
          sigmoid: input.sigmoid_reward as boolean,
        },
        { target_length: input.num_tokens as number },
      )
    },
    max_length: (vector) => goal(vector, 'exact'),
    up_to_max_length: (vector) => goal(vector, 'at_most'),
  },
  wanted: ({ expected }) =>
    typeof expected === 'object' && expected !== null && 'error' in expected ? raises : expected,
}
