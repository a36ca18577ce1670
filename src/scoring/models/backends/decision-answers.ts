/** Strict reading of what decision models say: what is not the promised answer is a failure, and never a number. */

import { answerNames, type Decided, type DecisionQuestion, expectedOf } from '../../../contract/decision.ts'
import { isObject, type JsonObject } from '../transport/reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** The error for an answer that is not what its server promises. Another server may do better. */
export const unreadable = (what: string): UpstreamError =>
  new UpstreamError('judge_unparseable', `the answer is unreadable: ${what}`)

/** The error for an answer that every server of the model would give. */
const withoutVerdict = (what: string): UpstreamError =>
  new UpstreamError('judge_unparseable', what, { remedy: 'give-up', blame: false })

const refused = (): UpstreamError => withoutVerdict('the model refused to answer this question')

/** How far probabilities may be from a sum of 1. */
const sumWithin = 0.01
/** How far the number that a server makes of its probabilities may be from them. */
const scoreWithin = 0.02
/** Masses may be above 1 by rounding. */
const mostMass = 1.01
/** The least mass where the config names none. */
const usualMass = 0.5

/**
 * The answer with these probabilities, in the author's order. `mass` null: the server does not tell it. `least`:
 * `decide.min_mass`. Throws UpstreamError.
 */
export function decided(
  { as }: DecisionQuestion,
  probabilities: readonly unknown[],
  mass: unknown,
  least: number | undefined,
): Decided {
  const names = answerNames(as)
  if (probabilities.length !== names.length) throw unreadable('not one probability for each answer')
  const given = probabilities.map(probabilityOf)
  const sum = given.reduce((total, one) => total + one, 0)
  if (!(Math.abs(sum - 1) <= sumWithin)) throw unreadable(`the probabilities add up to ${shown(sum)}`)
  const checked = massOf(mass)
  if (checked === null && least !== undefined) throw unreadable('it does not tell the mass of its answers')
  if (checked !== null && checked < (least ?? usualMass))
    throw withoutVerdict(
      `the answers that the question allows have ${shown(checked)} of the probability, less than decide.min_mass (${least ?? usualMass})`,
    )
  const whole = given.map((one) => one / sum)
  return { probabilities: whole, expected: expectedOf(as, whole), mass: checked }
}

function probabilityOf(value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0 && value <= 1))
    throw unreadable('a probability is not from 0 to 1')
  return value
}

function massOf(value: unknown): number | null {
  if (value === null || value === undefined) return null
  if (typeof value !== 'number' || !(value >= 0 && value <= mostMass))
    throw unreadable('the mass of its answers is not from 0 to 1')
  return Math.min(value, 1)
}

const shown = (value: number): string => value.toPrecision(3)

/** The probabilities of a map by name, in the order of `names`. Throws if it has other names than these. */
export function byName(map: unknown, names: readonly string[]): readonly unknown[] {
  if (!isObject(map)) throw unreadable('it has no probabilities')
  if (Object.keys(map).length !== names.length || !names.every((name) => Object.hasOwn(map, name)))
    throw unreadable('its answers are not those of the question')
  return names.map((name) => map[name])
}

/** Throws if a server's own score of levels is not the one of its probabilities. */
export function checkScore(score: unknown, probabilities: readonly unknown[]): void {
  const mean = probabilities.reduce<number>((sum, one, at) => sum + at * Number(one), 0)
  if (typeof score !== 'number' || !(Math.abs(score - mean) <= scoreWithin * (probabilities.length - 1)))
    throw unreadable('its score is not the one of its probabilities')
}

/** Throws if what a server calls the most likely answer is not. `at`: its index; -1: it is none of the question's. */
export function checkTop(at: number, probabilities: readonly unknown[]): void {
  if (at < 0) throw unreadable('its choice is no answer of the question')
  const own = Number(probabilities[at])
  if (probabilities.some((one) => Number(one) > own + sumWithin))
    throw unreadable('its choice is not its most likely answer')
}

/** The mass that a server hides in a confidence: the probability of the most likely answer among all tokens. */
export function massIn(confidence: unknown, probabilities: readonly unknown[]): number {
  const top = probabilities.reduce<number>((most, one) => Math.max(most, Number(one)), 0)
  if (typeof confidence !== 'number' || !(confidence >= 0) || !(top > 0))
    throw unreadable('its confidence is no probability')
  return confidence / top
}

/** An answer, which must be an object of the promised type. Throws for a refusal and for any other type. */
export function typed(answer: unknown, type: string): JsonObject {
  if (!isObject(answer)) throw unreadable('it has no answer')
  if (answer.type === 'refusal') throw refused()
  if (answer.type !== type) throw unreadable('its type is not the one of the question')
  return answer
}
