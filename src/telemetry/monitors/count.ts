import type { RequestDone } from '../../engine/events.ts'
import type { Outcome } from '../../sample/outcome.ts'
import type { Sample, Unreadable } from '../../sample/sample.ts'
import { binaryEntropy } from '../../statistics/entropy.ts'
import { variance } from '../../statistics/moments.ts'
import { spreadOf } from '../../statistics/pearson.ts'
import { repeatedShare } from '../../statistics/repeated-share.ts'
import type { Lens } from './lens.ts'
import { observe, type Tally, termMean } from './tally.ts'

/** A member of a group: what is kept of an answer until its group is whole. */
export interface Member {
  /** Equal for equal answers. */
  readonly print: string
  readonly length: number
  /** In shares of the reward's range; null: invalid. */
  readonly reward: number | null
}

/** One answer in so many is searched for repetition, which costs more than all the rest. */
const repetitionEvery = 32

/** Counts what can be seen in one row. */
export function countRow(tally: Tally, row: Sample | Unreadable, outcome: Outcome, lens: Lens): void {
  tally.rows += 1
  if (outcome.valid) observe(tally.reward, lens.share(outcome.reward))
  else tally.invalid.set(outcome.failure.kind, (tally.invalid.get(outcome.failure.kind) ?? 0) + 1)
  for (const term of outcome.terms) {
    if (term.status !== 'scored') continue
    observe(termMean(tally, term.name), term.score.value)
    // Half the range is the widest that a population's deviation can be.
    if (term.draws > 1)
      observe(tally.judgeAgainstJudge, Math.min(1, (2 * term.spread) / (lens.widths.get(term.name) ?? 1)))
  }
  countDecisions(tally, outcome, lens)
  if (tally.rows % repetitionEvery === 1 && 'response' in row)
    observe(tally.repeated, repeatedShare(row.response))
}

function countDecisions(tally: Tally, { terms }: Outcome, { rule, judges, peers }: Lens): void {
  if (judges.length === 0) return
  const decision = ({ at, share }: Lens['judges'][number]): boolean | null => {
    const term = terms[at]
    return term?.status === 'scored' ? share(term.score.value) >= 0.5 : null
  }
  const ruled = rule && decision(rule)
  for (const judge of ruled === null ? [] : judges) {
    const judged = decision(judge)
    if (judged !== null) observe(tally.ruleAgainstJudge, Number(judged !== ruled))
  }
  for (const [one, other] of peers) {
    const [a, b] = [decision(one), decision(other)]
    if (a !== null && b !== null) observe(tally.judgeAgainstJudge, Number(a !== b))
  }
}

/** Counts what can be seen in a whole group of answers to one prompt. */
export function countGroup(tally: Tally, members: readonly Member[]): void {
  if (members.length < 2) return
  tally.members += members.length
  tally.duplicates += members.length - new Set(members.map(({ print }) => print)).size
  const valid = members.filter((member): member is Member & { reward: number } => member.reward !== null)
  if (valid.length < 2) return
  const rewards = valid.map(({ reward }) => reward)
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)]
  // Sums in another order differ in the last bits.
  if (high - low < 1e-9) tally.flatGroups += 1
  observe(tally.variance, variance(rewards))
  observe(tally.entropy, binaryEntropy(rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length))
  const { xx, yy, xy } = spreadOf(
    valid.map(({ length }) => length),
    rewards,
  )
  tally.length.xx += xx
  tally.length.yy += yy
  tally.length.xy += xy
}

/** The places of a request's readable rows by group: by group id, else by the same prompt. */
export function groupsOf({ rows }: RequestDone): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>()
  for (const [index, row] of rows.entries()) {
    if ('failure' in row) continue
    const key = keyOf(row)
    const known = groups.get(key)
    if (known) known.push(index)
    else groups.set(key, [index])
  }
  return groups
}

const keyOf = ({ group, prompt }: Sample): string =>
  group ? `id ${group.id}` : `prompt ${typeof prompt === 'string' ? prompt : JSON.stringify(prompt)}`
