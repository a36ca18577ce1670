import { createHash } from 'node:crypto'
import { jsonLine } from '../../core/json/text.ts'
import type { Failure, Message, Outcome, Sample, Unreadable } from '../../core/sample/sample.ts'
import { readConversation } from '../../trainers/chat/conversation.ts'
import { rolloutOf } from '../../trainers/chat/rollout.ts'
import { writeNativeResult } from '../../trainers/native-result.ts'
import type { PromptRow } from '../dataset/prompt-rows.ts'
import { keptSample } from '../dataset/scored-file.ts'
import type { PolicyAnswer } from '../rollout/policy.ts'

/** One row in one run, whose answers are scored together. `turn` is its position in the output. */
export interface Turn extends PromptRow {
  readonly turn: number
  readonly run: number
}

/** The id of an answer: `<row>/<draw>`, or `<row>/<run>.<draw>` if there are several runs. */
export const idOf = ({ row, run }: Turn, draw: number, runs: number): string =>
  runs === 1 ? `${row.id}/${draw}` : `${row.id}/${run}.${draw}`

const groupIdOf = ({ row, run }: Turn, runs: number): string => (runs === 1 ? row.id : `${row.id}/${run}`)

/** A seed that differs for each answer. It has 31 bits, because servers accept no more. */
export function seedOf(seed: number, { index, run }: Turn, draw: number): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([seed, index, run, draw]))
    .digest()
  return hash.readUInt32BE(0) >>> 1
}

export function promptOf({ prompt }: Sample, chat: boolean): string | readonly Message[] {
  return chat && typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
}

/** The answers as samples of one group. A failed answer keeps its place and its failure. */
export function samplesOfTurn(
  turn: Turn,
  answers: readonly (PolicyAnswer | Failure)[],
  runs: number,
): readonly (Sample | Unreadable)[] {
  const { row } = turn
  return answers.map((answer, draw) => {
    const id = idOf(turn, draw, runs)
    if ('failure' in row) return { id, failure: row.failure }
    if ('kind' in answer) return { id, failure: answer }
    const group = { id: groupIdOf(turn, runs), size: answers.length, index: draw }
    const status = answer.finishReason === 'length' ? 'truncated' : 'completed'
    const rollout = answer.turn ? rolloutOf([answer.turn]) : { response: answer.text }
    const flags = [...(row.flags ?? []), ...(rollout.flags ?? [])]
    return { ...row, ...rollout, id, status, group, ...(flags.length > 0 && { flags }) }
  })
}

/** A line of the scored file: the result in the format of /v1/score, with the sample and its position. */
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
  const sample = { ...facts, ...keptSample('all', row).sample, ...place, ...spent }
  return jsonLine({ ...writeNativeResult(outcome), sample })
}

/** The answer in a result line. null if the policy failed or the line is not from an evaluation. */
export function answerOfLine(value: unknown): PolicyAnswer | null {
  const { sample } = (value ?? {}) as { readonly sample?: unknown }
  const { response, turns, response_tokens, finish_reason } = (sample ?? {}) as Readonly<
    Record<string, unknown>
  >
  if (typeof response !== 'string' || typeof finish_reason !== 'string') return null
  return {
    text: response,
    finishReason: finish_reason,
    tokens: typeof response_tokens === 'number' ? response_tokens : 0,
    ...(Array.isArray(turns) && { turn: readConversation(turns)[0] as Message }),
  }
}
