import { mean } from '../../core/statistics/summary.ts'

/**
 * The answers of several models to the problems of one task. -2 is an answer to another problem, other
 * negative values are no answer.
 */
export interface Answers {
  readonly exact: readonly number[]
  readonly values: Readonly<Record<string, readonly number[]>>
  /** In characters. */
  readonly lengths: Readonly<Record<string, readonly number[]>>
}

/** Which values are right, and which of two is better. `equal` tasks have one right value. */
interface TaskOrder {
  readonly right: 'at_most' | 'at_least' | 'equal'
  readonly better: 'smaller' | 'larger'
}

const small = { right: 'at_most', better: 'smaller' } as const
const large = { right: 'at_least', better: 'larger' } as const

/** GraphArena's tasks. In other tasks one value is right, and larger values rank higher. */
export const graphArenaOrders: Readonly<Record<string, TaskOrder>> = {
  GED: small,
  TSP: small,
  MVC: small,
  MCP: large,
  MCS: large,
  Distance: { right: 'equal', better: 'smaller' },
}

/**
 * For each model: the shares of right, feasible and hallucinated answers, the mean length, and the ranks
 * among the models. null if nothing is ranked.
 */
export function leaderboard({ exact, values, lengths }: Answers, order: TaskOrder) {
  const models = Object.keys(values)
  const at = (model: string, problem: number) => values[model]?.[problem] ?? -1
  const ranked = exact.flatMap((_, problem) =>
    models.some((model) => at(model, problem) >= 0) ? [problem] : [],
  )
  return Object.fromEntries(
    models.map((model) => {
      const own = exact.map((_, problem) => at(model, problem))
      const ranks = ranked.map((problem) =>
        rankOf(
          at(model, problem),
          models.map((other) => at(other, problem)),
          order,
        ),
      )
      const overRanks = (of: (rank: number) => number) => (ranks.length > 0 ? mean(ranks.map(of)) : null)
      return [
        model,
        {
          top1: overRanks((rank) => Number(rank === 1)),
          top3: overRanks((rank) => Number(rank <= 3)),
          mrr: overRanks((rank) => 1 / rank),
          feasible: mean(own.map((value) => Number(value > 0))),
          hallucination: mean(own.map((value) => Number(value === -2))),
          accuracy: mean(
            own.map((value, problem) => Number(isRight(value, exact[problem] ?? Number.NaN, order))),
          ),
          length: mean(lengths[model] ?? []),
        },
      ]
    }),
  )
}

function rankOf(value: number, all: readonly number[], { better }: TaskOrder): number {
  if (value < 0) return all.length
  const isBetter = (other: number) => other >= 0 && (better === 'smaller' ? other < value : other > value)
  return 1 + all.filter(isBetter).length
}

function isRight(value: number, exact: number, { right }: TaskOrder): boolean {
  if (right === 'equal') return value === exact
  return right === 'at_most' ? value >= 0 && value <= exact : value >= exact
}
