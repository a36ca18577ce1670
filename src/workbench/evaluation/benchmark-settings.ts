import { z } from 'zod'
import { samplingConfig } from '../../scoring/models/api/model-config.ts'
import type { EvaluationSettings } from './evaluation.ts'

/** How a benchmark is answered; what is absent is said by a wider place, in the end by `settled`. */
export const benchmarkSettings = z.strictObject({
  /** Answers a row in one run. */
  n: z.int().min(1).max(1024).optional(),
  runs: z.int().min(1).max(1000).optional(),
  /** The k of pass@k and maj@k; absent: n. */
  k: z.int().min(1).max(1024).optional(),
  limit: z.int().min(1).optional(),
  shuffle_seed: z.int().min(0).max(0xffff_ffff).optional(),
  /** `none`: the servers draw as they like. */
  seed: z.union([z.int().min(0).max(0xffff_ffff), z.literal('none')], 'a whole number, or none').optional(),
  /** A plain prompt is sent as a user's message. */
  chat: z.boolean().optional(),
  /** A reward of so much is a success. */
  solved_at: z.number().optional(),
  ...samplingConfig.omit({ seed: true, logprobs: true }).shape,
})

/** What one place says of a benchmark. */
export type BenchmarkSettings = z.output<typeof benchmarkSettings>

/** The earlier ones go before the later ones, and before what holds by itself: one greedy answer, or draws at temperature 1. */
export function settled(
  what: Pick<EvaluationSettings, 'name' | 'place' | 'data' | 'reward'>,
  ...settings: readonly BenchmarkSettings[]
): EvaluationSettings {
  const merged: BenchmarkSettings = Object.assign({}, ...[...settings].reverse())
  const {
    n = 1,
    runs = 1,
    k = n,
    limit,
    shuffle_seed,
    seed = 0,
    chat = false,
    solved_at = 1,
    ...own
  } = merged
  return {
    ...what,
    n,
    runs,
    k,
    limit: limit ?? null,
    shuffleSeed: shuffle_seed ?? null,
    seed: seed === 'none' ? null : seed,
    chat,
    solvedAt: solved_at,
    sampling: {
      temperature: n * runs === 1 ? 0 : 1,
      max_tokens: 2048,
      ...own,
    } as EvaluationSettings['sampling'],
  }
}
