import { type Agent, request } from 'undici'
import type { TrainerCase } from '../trainers/case.ts'
import { deadlineMs, fullMarks } from './gateway-process.ts'
import type { Rollout } from './rollouts.ts'

/** What one try of one request came to. */
export interface Try {
  /** Rows with a reward, of those that were sent; all of them: nothing is left to ask for. */
  readonly scored: number
  /** What no weather excuses. */
  readonly violations: readonly string[]
  readonly ms: number
  readonly end: 'answered' | 'refused' | 'lost'
}

/** What the gateway may say instead of an answer: overloaded, samples without a reward, draining. */
const refusals = new Set([408, 429, 502, 503])
/** On the wire beyond the deadline (invariant 3). */
const graceMs = 250

export interface TryOptions {
  readonly origin: string
  readonly agent: Agent
  readonly form: TrainerCase
  readonly rows: readonly Rollout[]
  /** True where the connection itself is in trouble or given up, so that an answer may be late, cut or missing. */
  mayBeLost(): boolean
  readonly signal?: AbortSignal
  /** Milliseconds that this process itself was late, or the gateway had no core: they count for nobody. */
  lateness(): number
}

/** Sends rows once and checks all that can be checked from outside. */
export async function tryOnce(options: TryOptions): Promise<Try> {
  const { origin, agent, form, rows, mayBeLost, signal, lateness } = options
  const started = performance.now()
  const headers = { 'content-type': 'application/json', ...(form.accept && { accept: form.accept }) }
  const body = JSON.stringify(form.body(rows))
  const late = (ms: number) =>
    ms > deadlineMs + graceMs + lateness() && !mayBeLost() ? [`answered after ${Math.round(ms)} ms`] : []
  try {
    const answer = await request(origin + form.path, {
      dispatcher: agent,
      method: 'POST',
      headers,
      body,
      signal,
    })
    const text = await answer.body.text()
    const ms = performance.now() - started
    if (answer.statusCode === 200) {
      const { scored, violations } = readingOf(form, rows, text, mayBeLost())
      return { scored, violations: [...violations, ...late(ms)], ms, end: 'answered' }
    }
    const violations = refusals.has(answer.statusCode)
      ? codeOf(text)
      : [`${answer.statusCode} ${text.slice(0, 300)}`]
    return { scored: 0, violations: [...violations, ...late(ms)], ms, end: 'refused' }
  } catch (error) {
    const ms = performance.now() - started
    return {
      scored: 0,
      violations: mayBeLost() ? [] : [`connection lost: ${error}`, ...late(ms)],
      ms,
      end: 'lost',
    }
  }
}

function readingOf(form: TrainerCase, rows: readonly Rollout[], text: string, mayBeCut: boolean) {
  let rewards: (number | null)[]
  try {
    rewards = form.read(text, rows.length)
  } catch (error) {
    return { scored: 0, violations: mayBeCut ? [] : [`reply: ${error}`] }
  }
  if (rewards.length !== rows.length)
    return { scored: 0, violations: [`${rewards.length} rewards for ${rows.length} rows`] }
  const violations = rows.flatMap((row, index) => {
    const reward = rewards[index]
    if (reward === null) return []
    const isTrue = row.isRight ? fullMarks.includes(reward as number) : reward === 0
    return isTrue ? [] : [`${row.id} is ${row.isRight ? 'right' : 'wrong'} and was given ${reward}`]
  })
  const given = new Set(rewards.filter((reward, index) => reward !== null && rows[index]?.isRight))
  if (given.size > 1) violations.push(`two configs in one request: ${[...given]}`)
  return { scored: rewards.filter((reward) => reward !== null).length, violations }
}

function codeOf(text: string): string[] {
  try {
    if (typeof JSON.parse(text).error.code === 'string') return []
  } catch {}
  return [`an error without a code: ${text.slice(0, 300)}`]
}
