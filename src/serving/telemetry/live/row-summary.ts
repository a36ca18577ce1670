import type { Outcome, Sample, Unreadable } from '../../../core/sample/sample.ts'
import type { TextPolicy } from '../record/text-policy.ts'
import type { RecentRow } from './recent-rows.ts'

/** A row as a table shows it. */
export interface RowSummary {
  readonly id: string
  readonly at: number
  readonly name: string
  readonly reward: string
  readonly run: string
  readonly training_step: number | null
  readonly group: string | null
  readonly data_source: string | null
  readonly value: number | null
  readonly failure: string | null
  readonly flags: readonly string[]
  readonly ms: number
  /** In the order of the fold: the score, or what there is instead of one. */
  readonly terms: readonly (number | 'text' | 'off' | 'failed')[]
  /** Beginnings; null where texts are withheld. */
  readonly prompt: string | null
  readonly response: string | null
}

const beginning = 140
const mostFlags = 8
const longestName = 128

/** What is seen of a row at a glance. */
export function summaryOf({ id, at, event }: RecentRow, policy: TextPolicy): RowSummary {
  const { plan, run, trainingStep, rows, outcomes, ms } = event
  const row = rows[0] as Sample | Unreadable
  const outcome = outcomes[0] as Outcome
  const sample = 'failure' in row ? null : row
  const shown = policy === 'full' ? sample : null
  return {
    id,
    at,
    name: row.id.slice(0, longestName),
    reward: plan.name,
    run: run.slice(0, longestName),
    training_step: trainingStep,
    group: sample?.group?.id.slice(0, longestName) ?? null,
    data_source: sample?.dataSource?.slice(0, longestName) ?? null,
    value: outcome.valid ? outcome.reward : null,
    failure: outcome.valid ? null : outcome.failure.kind,
    flags: outcome.flags.slice(0, mostFlags).map((flag) => flag.slice(0, longestName)),
    ms: Math.round((ms[0] ?? 0) * 10) / 10,
    terms: outcome.terms.map((term) => (term.status === 'scored' ? term.score.value : term.status)),
    prompt: shown && questionOf(shown).slice(0, beginning),
    response: shown?.response.slice(0, beginning) ?? null,
  }
}

const questionOf = ({ prompt }: Sample): string =>
  typeof prompt === 'string' ? prompt : (prompt.findLast(({ role }) => role === 'user')?.content ?? '')
