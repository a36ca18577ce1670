import type { Failure, Term } from '../../../core/sample/sample.ts'
import { GroupTimes, type Wait } from '../../../core/stalls/request-times.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import { incomplete, type Joined, type Joining, type StepContext } from '../context.ts'
import { callRoom } from '../job.ts'
import { groupQuestionsTerms } from '../judge/questions-step.ts'
import { called, failedTerm, scoredTerm, skippedTerm, unforeseen } from '../step.ts'
import { distinctAnswers } from './distinct-answers.ts'
import { listTerms } from './list-step.ts'
import { pairTerms } from './pair-step.ts'
import { comparisonsOf } from './ranking.ts'

/**
 * Calls `done` once with the term of a step over all answers to one prompt, when the sample's group is complete, and after it has
 * returned. Null if the step is off for this sample (`row` is null).
 */
export function joinGroup(
  context: StepContext,
  step: PlanStep,
  member: Pick<Joining, 'sample' | 'row' | 'place'>,
  done: (term: Term | null) => void,
): void {
  const { crossRequestGroups, clock, job, times } = context
  const groups = context.groups()
  const { sample, row } = member
  if (!groups.isNamed(sample)) {
    queueMicrotask(() => done(row && failedTerm(context, step, unnamed)))
    return
  }
  const { min, waitMs } = job.plan.group
  const isCompared = step.kind === 'pair' || step.kind === 'list'
  const size = groups.sizeOf(sample)
  const least = Math.max(min ?? size, isCompared ? 2 : 1)
  const joining = { context, step, ...member }
  const quorum = { size, least, waitMs }
  const take = (joined: Joined): void =>
    done(joined === incomplete ? failedTerm(context, step, tooFew(least)) : joined)
  const waitsFor = (group: GroupTimes): Wait => times.wait(member.place, 'group', '', clock.now(), { group })
  if (!Number.isFinite(waitMs) || size <= groups.membersOf(sample).length) {
    const group = groups.join(joining, quorum, (joined) => {
      wait.to = clock.now()
      take(joined)
    })
    const wait = waitsFor(group)
    return
  }
  job.waitTime?.begin(clock.now())
  // The members of a group continue together. Of many in one request, only some continue in each turn of the event loop.
  const isOfMany = groups.membersOf(sample).length > manyMembers
  const taken = (joined: Joined): void => {
    wait.to = clock.now()
    job.waitTime?.end(wait.to)
    if (!isOfMany) take(joined)
    else
      context.gates.calls.wait(callRoom, () => {
        context.gates.calls.leave(callRoom)
        take(joined)
      })
  }
  const group = new GroupTimes()
  const wait = waitsFor(group)
  crossRequestGroups
    .join(joining, quorum, group)
    .then(taken, (error: unknown) => taken(failedTerm(context, step, unforeseen(error))))
}

/** Members of a group that may continue in one turn of the event loop. */
const manyMembers = 64

/** One term per row, in row order. Never rejects. */
export async function groupTerms(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
): Promise<readonly Term[]> {
  if (step.kind === 'group-rule')
    return context.gates.calls.through(callRoom, () => groupRuleTerms(context, step, rows))
  // The step is off for all other members, so there is nothing to compare with.
  if (rows.length < 2 && step.kind !== 'group-questions')
    return rows.map(() => skippedTerm(context, step, 'not_applicable'))
  const among = await distinctAnswers(rows, mostContestants)
  const reason = tooMany(step, among.count)
  if (reason !== null) {
    const term = failedTerm(context, step, reason)
    return rows.map(() => term)
  }
  const own = await (step.kind === 'pair'
    ? pairTerms
    : step.kind === 'list'
      ? listTerms
      : groupQuestionsTerms)(context, step, among.rows)
  return among.places.map((place) => own[place] as Term)
}

const mostContestants = 1024
const mostComparisons = 8192

/** A group of thousands probably means that the prompt was not sent. Its comparisons would fill the memory. */
function tooMany({ kind, pairs }: PlanStep, count: number): Failure | null {
  const comparisons = kind === 'pair' ? comparisonsOf(count, pairs) : 0
  const reason =
    count > mostContestants
      ? `the group has more than ${mostContestants} different answers, and at most so many can be compared`
      : comparisons > mostComparisons
        ? `comparing the group's ${count} answers takes ${comparisons} comparisons, and at most ${mostComparisons} are allowed; use pairs.scheme ring`
        : null
  return reason === null ? null : { kind: 'bad_sample', retryable: false, detail: reason }
}

async function groupRuleTerms(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
): Promise<readonly Term[]> {
  const result = await called(context, { op: 'score', function: step.function, rows })
  if (result.status !== 'verdicts') {
    const failure =
      result.status === 'failed'
        ? result.failure
        : ({ kind: 'function_error', retryable: false, detail: 'a group rule asked a question' } as const)
    return rows.map(() => failedTerm(context, step, failure))
  }
  return rows.map((_row, index) => {
    const score = result.verdicts[index]
    return score ? scoredTerm(context, step, score) : skippedTerm(context, step, 'not_applicable')
  })
}

const unnamed: Failure = {
  kind: 'bad_sample',
  retryable: false,
  detail: 'the step compares the answers of a group: send group_id, or a prompt with text in it',
}

const tooFew = (least: number): Failure => ({
  kind: 'group_incomplete',
  retryable: true,
  detail: `fewer than ${least} answers of the group arrived in time`,
})
