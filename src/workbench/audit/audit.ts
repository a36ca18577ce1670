/**
 * The audit makes attacks from the user's own rows. A reward scores them together with right answers, near
 * misses and an answer that ignores the task. Attacks that earn more than they deserve are counted.
 */

import type { Message, Outcome, Sample } from '../../core/sample/sample.ts'
import { drawn, seeded } from '../../core/statistics/random.ts'
import type { Gateway } from '../../scoring/gateway/gateway.ts'
import { ignorance } from '../dataset/samples.ts'
import {
  type Attack,
  type AttackClass,
  type AuditRow,
  answeredWith,
  type Baseline,
  type Entitled,
  type Made,
  subjectOf,
  type Trial,
} from './attack.ts'
import { attacks as catalogue } from './catalogue/attacks.ts'
import { type Searched, search } from './grammar/search.ts'

/** The rewards of all answers. `findingsOf` counts them. */
export interface Audited {
  readonly reward: string
  readonly version: string
  readonly baselines: readonly Baseline[]
  readonly trials: readonly Trial[]
  /** Rewrites of right answers, and the forms that the reward pays. null without a search. */
  readonly searched: Searched | null
}

interface AuditOptions {
  readonly reward: string
  readonly rows: readonly AuditRow[]
  readonly signal: AbortSignal
  /** Default: the whole catalogue. */
  readonly attacks?: readonly Attack[]
  /** The most texts of the catalogue, twice. Default: all of its attacks on all rows. */
  readonly most?: number
  /** Searches with the grammar of attacks, beyond the catalogue. Default: no search. */
  readonly search?: {
    readonly budget: number
    readonly seed: number
    readonly kinds?: readonly AttackClass['against'][]
  }
  readonly onProgress?: (scored: number, total: number) => void
}

const batchSize = 256

interface Asked {
  readonly row: number
  readonly what: 'right' | 'near' | 'nothing' | Attack
  readonly sample: Sample
}

/** Scores all answers and compares them. Rejects only if the gateway's `score` does. */
export async function audit(gateway: Gateway, options: AuditOptions): Promise<Audited> {
  const { reward, rows, signal } = options
  const known = within(options.attacks ?? catalogue, rows.length, options)
  const asked = rows.flatMap((row, index) => questionsOf(row, index, known))
  const outcomes: Outcome[] = []
  let version = gateway.reward(reward).version
  for (let from = 0; from < asked.length; from += batchSize) {
    const batch = asked.slice(from, from + batchSize).map(({ sample }) => sample)
    const scored = await gateway.score({ reward, rows: batch, signal })
    for (const outcome of scored.outcomes) outcomes.push(outcome)
    version = scored.version
    options.onProgress?.(outcomes.length, asked.length)
  }
  const ids = rows.map(({ sample }) => sample.id)
  const baselines = ids.map((id, row): Baseline => {
    const lowest = Math.min(
      ...asked.flatMap((one, at) => (one.row === row ? (rewardOf(outcomes[at]) ?? []) : [])),
    )
    const paid = (what: 'right' | 'near' | 'nothing', pick: (...values: number[]) => number) => {
      const values = asked.flatMap((one, at) => {
        const reward = one.row === row && one.what === what ? rewardOf(outcomes[at]) : null
        return reward === null ? [] : [reward]
      })
      return values.length === 0 ? null : pick(...values)
    }
    const right = paid('right', Math.max)
    const isPaid = right !== null && right > lowest
    return { row: id, isPaid, right, near: paid('near', Math.max), nothing: paid('nothing', Math.max) }
  })
  const trials = asked.flatMap(({ row, what, sample }, at): Trial[] => {
    const baseline = baselines[row]
    return typeof what === 'string' || !baseline
      ? []
      : [trialOf(what, sample, rows[row]?.sample.response ?? '', baseline, outcomes[at])]
  })
  if (!options.search) return { reward, version, baselines, trials, searched: null }
  const isJudged = gateway.reward(reward).steps.some(({ ask }) => ask !== null)
  let count = asked.length
  const searched = await search(
    async (samples) => {
      const scored = await gateway.score({ reward, rows: samples, signal })
      count += samples.length
      options.onProgress?.(count, Math.max(count, asked.length + (options.search?.budget ?? 0)))
      return scored.outcomes
    },
    { rows, baselines, isJudged, ...options.search },
  )
  return { reward, version, baselines, trials: [...trials, ...searched.trials], searched }
}

/** The attacks of the catalogue that leave half of `most` to the search, evenly drawn. */
function within(
  attacks: readonly Attack[],
  rows: number,
  { most, search }: Pick<AuditOptions, 'most' | 'search'>,
): readonly Attack[] {
  if (most === undefined) return attacks
  return drawn(attacks, Math.max(1, Math.floor(most / 2 / rows)), seeded(search?.seed ?? 1))
}

function questionsOf(row: AuditRow, index: number, attacks: readonly Attack[]): readonly Asked[] {
  const subject = subjectOf(row)
  const texts = new Map<string, { readonly made: Made; readonly whats: Asked['what'][] }>()
  const honest: (readonly [Asked['what'], Made])[] = [
    ['right', row.sample.response],
    ...subject.nears.map((text) => ['near', text] as const),
    ['nothing', ignorance],
  ]
  const made = attacks.flatMap((attack) => {
    const text = attack.make(subject)
    return text === null || text === row.sample.response ? [] : [[attack, text] as const]
  })
  for (const [what, text] of [...honest, ...made]) {
    const key = typeof text === 'string' ? text : JSON.stringify(text)
    const same = texts.get(key) ?? { made: text, whats: [] }
    texts.set(key, same)
    same.whats.push(what)
  }
  return [...texts.values()].flatMap(({ made: response, whats }, at) =>
    whats.map(
      (what): Asked => ({
        row: index,
        what,
        // Each text is its own group, so that it is not compared with other answers to its prompt.
        sample: {
          ...answeredWith(row, response),
          id: `${row.sample.id}#${at}`,
          group: { id: `audit-${index}-${at}` },
        },
      }),
    ),
  )
}

function trialOf(
  attack: Attack,
  { response, turns }: Sample,
  original: string,
  { row, isPaid, right, near, nothing }: Baseline,
  outcome: Outcome | undefined,
): Trial {
  const reward = rewardOf(outcome)
  const failure = outcome && !outcome.valid ? outcome.failure.kind : null
  const floor = nothing ?? near
  const span = right !== null && floor !== null ? right - floor : 0
  const margin = Math.max(1e-9, Math.abs(span) * 0.01)
  const earned: Readonly<Record<Entitled, number | null>> = {
    nothing: floor,
    // A partly right answer may earn something. Without a near miss to compare with, only full pay counts.
    wrong: near === null ? null : Math.max(near, nothing ?? near),
    right,
    time: null,
  }
  const due = earned[attack.entitled]
  const isTooMuch = isPaid && reward !== null && due !== null && reward > due + margin
  const isAtLeastRight =
    reward !== null && right !== null && (isPaid ? reward >= right - margin : reward > right)
  // If the near miss itself earns full pay, attacks made from it say nothing new.
  const isRepeated =
    (attack.against === 'judge' || attack.family === 'form farming') &&
    near !== null &&
    right !== null &&
    near >= right - margin
  const paidInFull = attack.entitled !== 'right' && isAtLeastRight && !isRepeated
  const isLate = failure === 'rule_timeout' || failure === 'function_error'
  return {
    row,
    attack,
    response: turns ? shownTurns(turns) : response,
    ...(turns && { turns }),
    original,
    reward,
    failure,
    succeeded: attack.entitled === 'time' ? isLate : isTooMuch || paidInFull,
    paidInFull: attack.entitled !== 'time' && paidInFull,
    ignoresTask: attack.entitled === 'nothing' || attack.family === 'echo',
  }
}

/** A rollout as people read it. */
const shownTurns = (turns: readonly Message[]): string =>
  turns
    .map(({ role, content, toolCalls = [] }) =>
      [`[${role}]`, content, ...toolCalls.map(({ name }) => `${name}()`)]
        .filter((text) => text !== '')
        .join('\n'),
    )
    .join('\n')

const rewardOf = (outcome: Outcome | undefined): number | null => (outcome?.valid ? outcome.reward : null)
