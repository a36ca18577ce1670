import { breaksCase, type RegressionCase, regressionCases } from '../../contract/regression-cases.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Json, Outcome, Sample } from '../../core/sample/sample.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { chatMessage, rolloutOf } from '../../trainers/chat/rollout.ts'
import { readNativeSample } from '../../trainers/native.ts'
import { type AuditRow, answeredWith } from './attack.ts'
import type { Audited } from './audit.ts'

/** The most cases of one class: more of them say the same. */
const mostOfClass = 2

/**
 * The findings of an audit as cases, the shortest texts first. `isMeant` selects attacks and rewrites by name and family.
 */
export function casesOf(
  { trials, searched }: Audited,
  rows: readonly AuditRow[],
  isMeant: (name: string) => boolean,
): readonly RegressionCase[] {
  const known = new Map(rows.map((row) => [row.sample.id, row]))
  const found = [
    ...trials.flatMap(({ row, attack, response, turns, original, paidInFull }) => {
      if (!paidInFull) return []
      const text = turns ? rolloutOf(turns).response : response
      return [{ name: attack.id, must: 'earn less', response: text, turns, right: original, row } as const]
    }),
    ...(searched?.rewrites ?? []).flatMap(({ row, id, response, original, refused }) =>
      refused
        ? [{ name: id, must: 'earn as much', response, turns: undefined, right: original, row } as const]
        : [],
    ),
  ].sort((a, b) => a.response.length - b.response.length)
  const counts = new Map<string, number>()
  return found.flatMap(({ row: id, turns: said, ...found }): RegressionCase[] => {
    const row = known.get(id)
    const count = counts.get(found.name) ?? 0
    if (!row || count >= mostOfClass || !isMeant(found.name)) return []
    counts.set(found.name, count + 1)
    const turns = said ?? answeredWith(row, found.response).turns
    const rightTurns = answeredWith(row, found.right).turns
    return [
      { ...found, ...(turns && { turns }), ...(rightTurns && { rightTurns }), row: fieldsOf(row.sample) },
    ]
  })
}

function fieldsOf({
  prompt,
  groundTruth,
  dataSource,
  extraInfo,
  rmPrompt,
  rmPrompts,
}: Sample): RegressionCase['row'] {
  return {
    prompt: prompt as unknown as Json,
    ...(groundTruth !== null && { ground_truth: groundTruth }),
    ...(dataSource !== undefined && { data_source: dataSource }),
    ...(Object.keys(extraInfo).length > 0 && { extra_info: extraInfo }),
    ...(rmPrompt !== undefined && { rm_prompt: rmPrompt }),
    ...(Object.keys(rmPrompts).length > 0 && { rm_prompts: rmPrompts }),
  }
}

/** Cases as lines of a file. */
export const casesText = (cases: readonly RegressionCase[]): string =>
  cases.map((one) => `${JSON.stringify(one)}\n`).join('')

/** A case with what its two responses earned. null if invalid. */
export interface RanCase extends RegressionCase {
  readonly reward: number | null
  readonly rightReward: number | null
  readonly isBroken: boolean
}

/** Reads cases. Throws RG_INPUT_INVALID. */
export function readCases(path: string, text: string): readonly RegressionCase[] {
  try {
    const cases = regressionCases(text)
    if (cases.length > 0) return cases
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new GatewayError('RG_INPUT_INVALID', `${path}: ${error.message}`)
  }
  throw new GatewayError('RG_INPUT_INVALID', `${path}: has no cases`)
}

/** Scores the cases. A case whose right answer has no reward is broken. */
export async function runCases(
  gateway: Gateway,
  reward: string,
  cases: readonly RegressionCase[],
  signal: AbortSignal,
): Promise<readonly RanCase[]> {
  const rows = cases.flatMap(({ row, response, turns, right, rightTurns }, at) =>
    [turns?.map(chatMessage) ?? response, rightTurns?.map(chatMessage) ?? right].map((said, which) => {
      const id = `case-${at}-${which}`
      return readNativeSample({ ...row, id, group_id: id, response: said }, at)
    }),
  )
  const rewards: (number | null)[] = []
  for (let from = 0; from < rows.length; from += 512) {
    const { outcomes } = await gateway.score({ reward, rows: rows.slice(from, from + 512), signal })
    for (const outcome of outcomes) rewards.push(rewardOf(outcome))
  }
  return cases.map((one, at) => {
    const [reward = null, rightReward = null] = [rewards[2 * at], rewards[2 * at + 1]]
    return {
      ...one,
      reward,
      rightReward,
      isBroken: rightReward === null || breaksCase(one, reward, rightReward),
    }
  })
}

const rewardOf = (outcome: Outcome): number | null => (outcome.valid ? outcome.reward : null)
