import type { Outcome, Sample, Unreadable } from '../../../core/sample/sample.ts'
import type { ProgramTested, RequestDone, VoteEvent } from '../../../scoring/engine/events.ts'
import type { GatewaySettings } from '../../../scoring/plan/gateway-config.ts'
import type { TurnLimits } from '../record/rollout.ts'
import { type RecordedAsk, type RecordedRow, type RecordedTerm, recordAsk, recordRow } from '../record/row.ts'
import {
  cutText,
  type RecordedText,
  type TextKeeper,
  type TextPolicy,
  textKeeper,
} from '../record/text-policy.ts'
import { type ShownTests, shownTests } from './shown-tests.ts'

const strictness: readonly TextPolicy[] = ['full', 'hash', 'none']

/**
 * How much text the inspector may show; never more than the record keeps. By default hashes only, or everything if the
 * judges are simulated. Nothing before there are settings.
 */
export function shownText(settings: GatewaySettings | undefined, simulates = false): TextPolicy {
  if (!settings) return 'none'
  const { record, inspector } = settings
  const kept = record?.text ?? 'full'
  const asked = inspector.text ?? record?.text ?? (simulates ? 'full' : 'hash')
  return strictness[Math.max(strictness.indexOf(kept), strictness.indexOf(asked))] ?? 'none'
}

/** A row that the page can show. */
export interface KeptRow {
  /** As in the record: `<request id>:<row index>`. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Reduced to this row, so that it does not keep the rest of its request in memory. */
  readonly event: RequestDone
}

/** A row in the table of samples. */
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
  /** In the order of the steps: the score, or the status of a term without one. */
  readonly terms: readonly (number | 'text' | 'off' | 'failed')[]
  /** The first characters; null if texts are withheld. */
  readonly prompt: string | null
  readonly response: string | null
  /** Turns of a rollout that is more than a text; null for a text. */
  readonly turns: number | null
}

const beginning = 140
const maxFlags = 8
const longestName = 128

export function summaryOf({ id, at, event }: KeptRow, policy: TextPolicy): RowSummary {
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
    flags: outcome.flags.slice(0, maxFlags).map((flag) => flag.slice(0, longestName)),
    ms: Math.round((ms[0] ?? 0) * 10) / 10,
    terms: outcome.terms.map((term) => (term.status === 'scored' ? term.score.value : term.status)),
    prompt: shown && questionOf(shown).slice(0, beginning),
    response: shown?.response.slice(0, beginning) ?? null,
    turns: sample?.turns?.length ?? null,
  }
}

const questionOf = ({ prompt }: Sample): string =>
  typeof prompt === 'string' ? prompt : (prompt.findLast(({ role }) => role === 'user')?.content ?? '')

/** One row in full: its record under the same text policy, with the questions sent to its judges. */
export type RowDetail = Omit<RecordedRow, 'terms'> & {
  /** The hashes of the images that `GET /ui/api/images/{sha256}` returns. */
  readonly images: readonly string[]
  readonly terms: readonly (Omit<RecordedTerm, 'asks'> & {
    readonly asks: readonly ShownAsk[]
    /** What became of the tests of a program; absent if nobody looked when it ran. */
    readonly tests?: ShownTests
  })[]
}

/** Limits of what is shown: characters of a text, entries of a list, characters of a key. */
const longestText = 20_000
const longestList = 256
const longestKey = 200
/** Of a rollout's turns: leaves out what `cut` would drop without a note. */
const turnLimits: TurnLimits = { chars: 2 ** 18, list: longestList }

/** What was kept of a row while somebody looked. */
interface KeptEvents {
  readonly answers: readonly VoteEvent[]
  readonly tests: readonly ProgramTested[]
}

/** Long texts are cut and end with a note that says so. */
export function detailOf(
  { id, at, event }: KeptRow,
  { answers, tests }: KeptEvents,
  policy: TextPolicy,
): Omit<RowDetail, 'images'> {
  const keep = textKeeper(policy)
  const time = new Date(at).toISOString()
  const parts = { keep, answersOf: () => [], samplingOf: () => ({}), limits: turnLimits }
  const { began, arrived: came } = event.times
  const arrived = new Date(at - (event.ms[0] ?? 0) - (began - came)).toISOString()
  const recorded = recordRow(event, 0, { id, time, arrived }, parts)
  const terms = recorded.terms.map((term) => {
    const own = answers.filter(({ step }) => step === term.name)
    const tested = tests.findLast(({ step }) => step === term.name)
    return {
      ...term,
      asks: own.map((vote) => shownAsk(vote, keep)),
      ...(tested && { tests: shownTests(tested, keep) }),
    }
  })
  return cut({ ...recorded, terms }) as Omit<RowDetail, 'images'>
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value, longestText)
  if (Array.isArray(value)) return value.slice(0, longestList).map(cut)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).slice(0, longestList)
  return Object.fromEntries(entries.map(([key, inner]) => [key.slice(0, longestKey), cut(inner)]))
}

/** An answer of a judge as recorded, with the question that was sent. */
export type ShownAsk = RecordedAsk & { readonly question: RecordedText }

/** `keep` applies the text policy to question and answer. */
export function shownAsk(vote: VoteEvent, keep: TextKeeper): ShownAsk {
  const { question } = vote
  const text =
    typeof question === 'string' ? question : 'json' in question ? question.json : JSON.stringify(question)
  return { ...recordAsk(vote, { keep, samplingOf: () => ({}) }), question: keep.text(text) }
}
