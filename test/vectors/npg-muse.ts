import gsm8kStock from '../../reward-functions/gsm8k-stock.ts'
import mathDapo from '../../reward-functions/math-dapo.ts'
import npgMuse from '../../reward-functions/npg-muse.ts'
import npgMuseMath from '../../reward-functions/npg-muse-math.ts'
import type { Json } from '../../src/contract/index.ts'
import { type RowParts, scored } from '../../src/contract/testing.ts'
import { hasLoop, hasSampledLoop } from '../../src/grading/repetition.ts'
import { stepOfConfig } from './step-of-config.ts'
import { type Adapter, type Answer, raises, type Vector } from './vector.ts'

type Parts = readonly (readonly [text: string, times: number])[]

const joined = (parts: unknown): string =>
  (parts as Parts).map(([text, times]) => text.repeat(times)).join('')

const rowOf = (vector: Vector, options: Json): RowParts => ({
  response: typeof vector.response === 'string' ? vector.response : joined(vector.response_parts),
  groundTruth: vector.ground_truth as Json,
  dataSource: String(vector.data_source),
  extraInfo: (vector.extra_info ?? {}) as Readonly<Record<string, Json>>,
  ...(vector.extra_info == null && { hasExtraInfo: false as const }),
  options,
})

const scoreTask: Answer = (vector, mode) => {
  const score = scored(npgMuse, rowOf(vector, { mode }))
  const suspect = mode === 'strict' ? { suspect: score?.flags?.includes('better_than_exact') ?? false } : {}
  return { score: score?.value, ...score?.parts, ...suspect }
}

/** By the step of rm-configs/npg-muse-default.yaml whose data_source fits. */
const scoreSource: Answer = (vector, mode) => {
  const step = stepOfConfig('npg-muse-default.yaml', String(vector.data_source))
  const row = rowOf(vector, { ...step.options, mode })
  switch (step.function) {
    case 'gsm8k-stock':
      return { score: scored(gsm8kStock, row)?.value }
    case 'npg-muse-math': {
      const score = scored(npgMuseMath, row)
      return { score: score?.value, ...score?.parts }
    }
    case 'math-dapo': {
      const score = scored(mathDapo, row)
      return {
        score: score?.value,
        acc: score?.parts?.correctness === 1,
        pred: score?.details?.extracted ?? null,
      }
    }
    default:
      return scoreTask(vector, mode)
  }
}

const findRepetition: Answer = ({ parts, true_repetition }) => ({
  sampled: hasSampledLoop(joined(parts)),
  ...(true_repetition === undefined ? {} : { exact: hasLoop(joined(parts)) }),
})

/** Vectors recorded under the former names of the modes say `sound_` and `reference_`. */
function wanted(vector: Vector, mode: 'published' | 'strict', file: string): unknown {
  if (mode === 'strict') {
    const flags = (vector.strict_flags ?? vector.sound_flags) as readonly string[]
    return {
      ...((vector.strict_expected ?? vector.sound_expected) as object),
      suspect: flags.includes('better_than_exact'),
    }
  }
  if (vector.published_raises || vector.reference_raises) return raises
  if (file !== 'repetition') return vector.expected ?? vector.published_expected ?? vector.reference_expected
  const { has_repetition } = vector.expected as { has_repetition: boolean }
  const { true_repetition } = vector
  return { sampled: has_repetition, ...(true_repetition === undefined ? {} : { exact: true_repetition }) }
}

const tasks = ['Connected', 'Diameter', 'Distance', 'GED', 'MCP', 'MCS', 'MIS', 'MVC', 'Neighbor', 'TSP']

export const npgMuseVectors: Adapter = {
  answers: {
    ...Object.fromEntries([...tasks, 'hacks', 'hardened'].map((file) => [file, scoreTask])),
    ...Object.fromEntries(['dispatch', 'gsm8k', 'math', 'math_dapo'].map((file) => [file, scoreSource])),
    repetition: findRepetition,
  },
  wanted,
}
