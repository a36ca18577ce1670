/** Calls of rewards that ask several questions. */

import type { RewardFunction, Row } from '../../../contract/index.ts'
import type { Score } from '../../../core/sample/sample.ts'
import type { CallResult } from '../function-host.ts'
import type { FunctionJob } from '../job.ts'
import { checkPartScores, checkQuestions } from './check-questions.ts'
import { ContractViolation, checkVerdict, checkVerdicts, type VerdictLimits } from './check-results.ts'

type CallJob = Extract<FunctionJob, { type: 'call' }>
type AsksSeveral = Extract<RewardFunction, { kind: 'questions' | 'group-questions' }>

/** What a hook of such a reward answers. Throws what its code throws, and ContractViolation. */
export function questionsAnswer(
  fn: AsksSeveral,
  job: CallJob,
  rows: readonly Row[],
  judged: VerdictLimits,
): CallResult {
  const [row] = rows as [Row]
  const isOfRow = fn.kind === 'questions'
  switch (job.op) {
    case 'preprocess': {
      const asked = isOfRow ? fn.rm_preprocess(row) : fn.rm_preprocess(rows)
      if (typeof asked === 'number') return noCall(asked, judged)
      const scores = isOfRow ? 1 : rows.length
      return { status: 'questions', questions: checkQuestions(fn.ask, asked, rows, scores) }
    }
    case 'postprocess': {
      // Of the function's own ask.
      const answer = job.answer as never
      const at = job.at ?? 0
      const read = isOfRow ? fn.rm_postprocess(answer, row, at) : fn.rm_postprocess(answer, rows, at)
      return { status: 'verdicts', verdicts: read === null ? [] : checkPartScores(read) }
    }
    case 'combine': {
      const found = job.found ?? []
      const limits = { ...judged, hook: 'combine' }
      const combined = isOfRow ? fn.combine(found, row) : fn.combine(found, rows)
      if (combined === undefined) return { status: 'undecided' }
      const verdicts = isOfRow
        ? [checkVerdict(combined, limits, row.sample)]
        : checkVerdicts(combined, rows, limits)
      return { status: 'verdicts', verdicts }
    }
    default:
      throw new ContractViolation(`a reward of several questions has no ${job.op}`)
  }
}

/** The result of an rm_preprocess that gives a verdict in place of a question. */
export function noCall(asked: number | Score, judged: VerdictLimits): CallResult {
  const limits = { ...judged, hook: 'rm_preprocess', outOfRange: 'function_error' } as const
  return { status: 'verdicts', verdicts: [checkVerdict(asked, limits, null)] }
}
