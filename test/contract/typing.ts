/**
 * What an author's editor says of a reward function. Nothing here runs: `npm run types` fails where a type that should be
 * inferred is not, or where a mistake is no error any more.
 */
import { z } from 'zod'
import {
  defineGroupRule,
  defineListReward,
  defineModelReward,
  definePairReward,
  defineRule,
  type Generation,
  optional,
  prompt,
  type Row,
} from '../../src/contract/index.ts'
import { judgeContract, type TestRunner } from '../../src/contract/testing.ts'

type Same<A, B> =
  (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : ['not the same', A, B]
const holds = <T extends true>(..._: T[]): void => {}
const isOf =
  <A>() =>
  <B>(_: B, _same: Same<A, B>): void => {}

const options = z.strictObject({ limit: z.number().default(3), word: z.string().optional() })
const truth = z.string().transform(Number)

export const inferred = defineRule({
  truth,
  options,
  range: ({ limit }) => [0, limit],
  parts: ['format'],
  score(row) {
    isOf<number>()(row.truth, true)
    isOf<{ limit: number; word?: string | undefined }>()(row.options, true)
    return row.truth > row.options.limit ? { value: 1, parts: { format: 1 } } : null
  },
})

export const truthByOptions = defineRule({
  truth: ({ limit }) => z.array(z.int()).max(limit),
  options,
  range: [0, 1],
  score({ truth }) {
    isOf<number[]>()(truth, true)
    return truth.length
  },
})

export const withoutOptions = defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score(row) {
    isOf<unknown>()(row.truth, true)
    // @ts-expect-error: no option is declared
    return row.options.limit
  },
})

// @ts-expect-error: a score needs a value
export const noValue = defineRule({ truth, range: [0, 1], score: () => ({ reward: 1 }) })
// @ts-expect-error: a text is no verdict
export const text = defineRule({ truth, range: [0, 1], score: () => 'good' })
// @ts-expect-error: a verdict is not awaited
export const later = defineRule({ truth, range: [0, 1], score: async () => 1 })
// @ts-expect-error: a missing return is no verdict
export const nothing = defineRule({ truth, range: [0, 1], score() {} })
// @ts-expect-error: the range is missing
export const endless = defineRule({ truth, score: () => 1 })
// @ts-expect-error: the truth is missing
export const untrue = defineRule({ range: [0, 1], score: () => 1 })
// @ts-expect-error: a part is a number
export const wordy = defineRule({ truth, range: [0, 1], score: () => ({ value: 1, parts: { a: 'b' } }) })

export const misspelt = defineRule({
  truth,
  range: [0, 1],
  // @ts-expect-error: there is no `option`
  option: z.strictObject({}),
  score: () => 1,
})

export const frozen = defineRule({
  truth,
  range: [0, 1],
  score({ sample }) {
    // @ts-expect-error: a sample is read only
    sample.response = ''
    return 1
  },
})

export const group = defineGroupRule({
  truth,
  range: [0, 1],
  score(rows) {
    isOf<readonly Row<number, Record<never, never>>[]>()(rows, true)
    return rows.map(() => null)
  },
})

// @ts-expect-error: one verdict a row
export const alone = defineGroupRule({ truth, range: [0, 1], score: () => 1 })

export const judge = defineModelReward({
  ask: 'generate',
  reply: ({ limit }) => ({ choice: [String(limit)] }),
  options,
  truth,
  range: [0, 1],
  rm_preprocess: ({ sample, truth }) => prompt`Is ${sample.response} ${truth}?`,
  rm_postprocess(answer, row) {
    isOf<Generation>()(answer, true)
    return answer.text.length > row.options.limit ? 1 : null
  },
})

export const scalar = defineModelReward({
  ask: 'classify',
  truth: z.unknown(),
  range: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  rm_preprocess: ({ sample }) => prompt`${sample.response}`,
  rm_postprocess(answer) {
    isOf<number>()(answer, true)
    return answer
  },
})

export const misasked = defineModelReward({
  // @ts-expect-error: no model can be asked so
  ask: 'chat',
  truth,
  range: [0, 1],
  rm_preprocess: () => 'x',
})

export const unlabelled = defineModelReward({
  ask: 'choose',
  truth,
  range: [0, 1],
  // @ts-expect-error: a choice needs labels
  rm_preprocess: ({ sample }) => prompt`${sample.response}`,
  rm_postprocess: () => 1,
})

export const values = prompt`${1} ${'a'}`
// @ts-expect-error: an object has no text
export const object = prompt`${{ a: 1 }}`

export const pair = definePairReward({
  ask: 'generate',
  truth,
  range: [0, 1],
  rm_preprocess: (a, b) => prompt`${a.truth + b.truth}`,
  rm_postprocess: ({ text }, a) => (text === 'A' ? a.truth : null),
})

export const list = defineListReward({
  ask: 'generate',
  truth,
  range: [0, 1],
  rm_preprocess: (rows) => prompt`${rows.length}`,
  rm_postprocess: ({ text }, rows) => (text === '' ? null : rows.map(() => 1)),
})

export function tested(t: TestRunner): void {
  judgeContract(t, judge, { asked: {}, full: '1', zero: { text: '0', finishReason: 'stop' } })
  judgeContract(t, scalar, { asked: {}, full: 1, zero: 0 })
  // @ts-expect-error: a scalar model answers with a number
  judgeContract(t, scalar, { asked: {}, full: '1', zero: 0 })
}

/** Either runner can be given as it is. */
export const runners = (
  tap: import('tap').Test,
  assert: typeof import('node:assert/strict'),
): TestRunner[] => [tap, assert]

holds<Same<(typeof inferred)['kind'], 'rule'>>(true)

export const asksMessages = defineModelReward({
  ask: 'generate',
  truth: z.unknown(),
  range: [0, 1],
  rm_preprocess: ({ sample }) => prompt`${sample.prompt} ${optional('')} ${1} ${true}`,
  rm_postprocess: () => null,
})
// @ts-expect-error: nothing is no text
export const missing = prompt`${undefined}`
// @ts-expect-error: texts are joined by the author
export const several = prompt`${['a', 'b']}`
