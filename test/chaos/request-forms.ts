import type { Row, TrainerCase } from '../trainers/case.ts'
import { trainerCases } from '../trainers/cases.ts'

const native = (rows: readonly Row[]) => ({
  reward: 'judged',
  samples: rows.map(({ id, question, response, truth }) => ({
    id,
    prompt: question,
    response,
    ground_truth: truth,
  })),
})

interface NativeRow {
  readonly index?: number
  readonly id: string
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string } | null
}

function nativeReward({ reward, valid, failure }: NativeRow): number | null {
  if (valid !== (reward !== null) || valid !== (failure === null))
    throw new Error('a row that is neither scored nor invalid')
  return reward
}

/** Every form that the gateway reads, its own too. */
export const requestForms: Readonly<Record<string, TrainerCase>> = {
  native: {
    path: '/v1/score',
    rows: 24,
    body: native,
    read(reply, count) {
      const { results } = JSON.parse(reply) as { results: NativeRow[] }
      if (results.length !== count) throw new Error(`${results.length} results for ${count} rows`)
      return results.map(nativeReward)
    },
  },
  ndjson: {
    path: '/v1/score',
    accept: 'application/x-ndjson',
    rows: 24,
    body: native,
    read(reply, count) {
      const lines = reply
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as NativeRow)
      const rewards = new Map(lines.map((row) => [row.index, nativeReward(row)]))
      if (lines.length !== count || rewards.size !== count)
        throw new Error(`${lines.length} lines, ${rewards.size} of ${count} rows`)
      return Array.from({ length: count }, (_, index) => rewards.get(index) ?? null)
    },
  },
  ...trainerCases,
}
