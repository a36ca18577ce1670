import type { Failure, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import { writeNativeResult } from '../../trainers/native-result.ts'
import { keptOf } from '../dataset/kept.ts'
import type { PolicyAnswer } from '../rollout/policy.ts'
import { groupIdOf, type Turn } from './turn.ts'

/** A line of the scored file: the result as /v1/score writes it, and beside it the sample with where it stood. */
export function resultLine(
  turn: Turn,
  { draw, runs }: { readonly draw: number; readonly runs: number },
  answer: PolicyAnswer | Failure,
  row: Sample | Unreadable,
  outcome: Outcome,
): string {
  const place = { row: turn.index, run: turn.run, draw }
  const asked = 'failure' in turn.row ? null : turn.row
  const facts = asked && {
    data_source: asked.dataSource ?? null,
    group_id: groupIdOf(turn, runs),
    prompt: asked.prompt,
  }
  const spent = 'kind' in answer ? {} : { response_tokens: answer.tokens, finish_reason: answer.finishReason }
  const sample = { ...facts, ...keptOf('all', row).sample, ...place, ...spent }
  return `${JSON.stringify({ ...writeNativeResult(outcome), sample })}\n`
}

/** The answer that a line holds; null: the policy gave none, or the line is none of an evaluation. */
export function answerOfLine(value: unknown): PolicyAnswer | null {
  const { sample } = (value ?? {}) as { readonly sample?: unknown }
  const { response, response_tokens, finish_reason } = (sample ?? {}) as Readonly<Record<string, unknown>>
  if (typeof response !== 'string' || typeof finish_reason !== 'string') return null
  return {
    text: response,
    finishReason: finish_reason,
    tokens: typeof response_tokens === 'number' ? response_tokens : 0,
  }
}
