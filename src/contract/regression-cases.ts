/** Findings of an audit as cases that a rule's test and `reward-gateway audit --cases` run again. */
import type { Json, Message } from '../core/sample/sample.ts'

/** A response that a reward paid wrongly, or refused wrongly, with a right answer to compare with. */
export interface RegressionCase {
  /** The class of the attack or of the rewrite. */
  readonly name: string
  /** What the response must earn, compared with `right`. */
  readonly must: 'earn less' | 'earn as much'
  readonly response: string
  /** Of a rollout: its turns, as functions read them. The response is the text of the last one. */
  readonly turns?: readonly Message[]
  /** A right answer in the same form. */
  readonly right: string
  /** Of a rollout: the turns that end in the right answer. */
  readonly rightTurns?: readonly Message[]
  /** The rest of the row, as `POST /v1/score` takes it. */
  readonly row: { readonly [field: string]: Json }
}

/**
 * Reads a file that `reward-gateway audit --write-cases` wrote: JSON lines. Throws a TypeError with the line.
 *
 * @example
 * ```ts
 * import { regressionCases } from 'reward-gateway/testing'
 *
 * const line = '{"name":"doubt/{T}?","must":"earn less","response":"42?","right":"42","row":{"ground_truth":"42"}}'
 * regressionCases(line)[0]?.response // '42?'
 * ```
 */
export function regressionCases(text: string): readonly RegressionCase[] {
  return text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [read(line, at + 1)]))
}

function read(line: string, number: number): RegressionCase {
  const value = parsed(line)
  const isText = (field: string): boolean => typeof value?.[field] === 'string'
  const isCase =
    (value?.must === 'earn less' || value?.must === 'earn as much') &&
    ['name', 'response', 'right'].every(isText) &&
    typeof value.row === 'object' &&
    value.row !== null
  if (!isCase) throw new TypeError(`line ${number} is not a case of reward-gateway audit --write-cases`)
  return value as unknown as RegressionCase
}

function parsed(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' ? (value as Readonly<Record<string, unknown>> | null) : null
  } catch {
    return null
  }
}

/**
 * Whether these rewards break a case. A reward of `null` (no verdict) breaks `earn as much`, and keeps
 * `earn less`.
 */
export function breaksCase(
  { must }: Pick<RegressionCase, 'must'>,
  reward: number | null,
  right: number,
): boolean {
  const margin = Math.max(1e-9, Math.abs(right) * 0.01)
  if (must === 'earn less') return reward !== null && reward >= right - margin
  return reward === null || reward < right - margin
}
